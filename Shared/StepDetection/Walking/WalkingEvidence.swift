import Glibc

/// Weighs the evidence for and against walking, estimate by estimate, and decides when a bout begins and ends.
///
/// A sequential test (Wald, 1945): the evidence of all estimates is added up, and the sum decides, not any single estimate. A
/// clear rhythm is accepted within 1.5 s, a moderate one in 3 s, an intermittent one never.
///
/// Before a bout the sum belongs to one cadence, which is followed as in a bout: a single estimate that prefers two strides to
/// one, as the first steps of a walk cause, costs nothing. If another cadence is truly better, the sum restarts.
struct WalkingEvidence: Sendable {
    private let thresholds: WalkingThresholds
    private(set) var isWalking = false
    /// Whether the last estimate was evidence against walking: an apparent step may not be one.
    private(set) var isInDoubt = false
    /// The time of the last estimate before the sum began to grow.
    private(set) var since = 0.0
    private(set) var cadences = RecentMedian(capacity: 9)
    private var sum = 0.0
    /// The learned log odds since the sum began to grow: their total, and the number of estimates.
    private(set) var odds = 0.0
    private(set) var estimates = 0.0
    private var lastGain = 0.0
    /// The cadence that was better than the bout's, and for how many consecutive hops.
    private var rival = 0.0
    private var rivalHops = 0.0
    /// Whether the cadence was found to be twice the true one. No estimate can tell: if both legs move alike, a step looks like a
    /// stride.
    private var isHalved = false

    init(_ thresholds: WalkingThresholds) {
        self.thresholds = thresholds
    }

    /// The cadence near which the next estimate should search, and how near; nil for any.
    var followed: Double? { isWalking || cadences.count > 0 ? cadence : nil }
    var width: Double { isWalking ? thresholds.tracking : thresholds.agreement }

    /// The probability of walking, by all estimates since the sum began to grow.
    var confidence: Double { thresholds.confidence(odds: odds / max(1, estimates), estimates: estimates) }

    /// Whether walking is more likely than not, by the sum of their log odds.
    var isLikely: Bool { odds > 0 }

    /// Steps a second: the median over about 2 s.
    var cadence: Double { cadences.value }

    mutating func reset(at time: Double) {
        isWalking = false
        sum = 0
        odds = 0
        estimates = 0
        rivalHops = 0
        isHalved = false
        since = time
        cadences.removeAll()
    }

    mutating func halve() {
        let half = 0.5 * cadence
        cadences.removeAll()
        cadences.append(half)
        isHalved = true
    }

    /// Takes the estimate of a hop.
    ///
    /// - Parameters:
    ///   - above: the standard deviation of the magnitude above 6 Hz, in g.
    ///   - odds: the log odds of `WalkingLikelihood`.
    mutating func weigh(_ estimate: GaitEstimate?, above: Double, odds: Double, at time: Double) {
        let gain = gain(estimate, above: above, odds: odds, at: time)
        if estimate != nil {
            self.odds += odds
            estimates += 1
        }
        sum = min(sum + gain, thresholds.most)
        isInDoubt = gain < -thresholds.doubt
        if !isInDoubt { lastGain = time }
        if sum <= 0 || isWalking && time - lastGain > thresholds.longestDoubt {
            reset(at: time)
        } else if sum >= thresholds.enough {
            isWalking = true
        }
    }

    private mutating func gain(_ estimate: GaitEstimate?, above: Double, odds: Double, at time: Double) -> Double {
        let loss = -thresholds.mostLoss
        guard let estimate else { return loss }
        let least = isWalking ? thresholds.leastDeviationInBout : thresholds.leastDeviation
        let quickest = max(estimate.cadence, thresholds.strongestShare * estimate.strongest)
        let leastByCadence = thresholds.leastDeviationByCadence * quickest * quickest
        guard estimate.deviation > max(least, leastByCadence),
            above <= thresholds.mostAboveSixHertz * estimate.deviation,
            !isQuickWork(estimate, above: above), !isPumped(estimate)
        else {
            return loss
        }
        if isHalved, estimate.bestCadence > 1.8 * cadence {
            // The doubled cadence again.
        } else if isWalking {
            if isRivalBetter(estimate) {
                cadences.removeAll()
                cadences.append(estimate.bestCadence)
                return 0
            }
            if estimate.rivalry > thresholds.rivalry { return -thresholds.strayLoss }
        } else if estimate.rivalry > thresholds.rivalryBefore {
            reset(at: time)
            cadences.append(estimate.bestCadence)
            return 0
        }
        let weight = thresholds.axesWeight
        let unusual = log(estimate.cadence / thresholds.usualCadence)
        let gain =
            estimate.regularity * (1 - weight) + estimate.axesRegularity * weight
            + thresholds.symmetryWeight * max(0, estimate.symmetry - thresholds.symmetry)
            - min(thresholds.unusualWeight * unusual * unusual, thresholds.mostUnusual)
            - (isWalking ? thresholds.leastRegularityInBout : thresholds.leastRegularity)
            + (isWalking ? 0 : thresholds.likelihood(odds, hasAxes: estimate.straightness != nil))
        guard gain > 0 else { return max(loss, gain) }
        cadences.append(estimate.cadence)
        return gain
    }

    /// Whether the movement is of hands, as in clapping: quicker than walking, weaker than running, and with blows.
    private func isQuickWork(_ estimate: GaitEstimate, above: Double) -> Bool {
        (estimate.cadence > thresholds.quickestWalk || isThreeStrokes(estimate))
            && estimate.deviation < thresholds.leastDeviationOfRun
            && above > thresholds.mostAboveSixHertzOfRun * estimate.deviation
    }

    /// Whether a hand moves the device up and down, in play or to cheat: along one line, further than a body rises, and more
    /// weakly than in running. A hand may move as evenly as two walking legs, and its cadence may be underestimated.
    private func isPumped(_ estimate: GaitEstimate) -> Bool {
        let frequency = min(estimate.cadence, estimate.strongest)
        return (estimate.straightness ?? 0) > thresholds.straightestWalk
            && estimate.deviation < GaitRhythm.leastDeviationOfRun
            && estimate.deviation > GaitRhythm.mostByFrequency * frequency * frequency
    }

    /// Whether three quicker strokes are taken for a stride: their frequency is the strongest, one and a half times the cadence,
    /// so the movement is reversed from one step to the next.
    private func isThreeStrokes(_ estimate: GaitEstimate) -> Bool {
        estimate.strongest > thresholds.quickestWalk && abs(estimate.strongest / estimate.cadence - 1.5) < 0.2
            && estimate.symmetry < thresholds.mostSymmetryOfStrokes
    }

    /// Whether one other cadence has been the best for so long that it is the true one.
    private mutating func isRivalBetter(_ estimate: GaitEstimate) -> Bool {
        guard estimate.rivalry > thresholds.leastRivalry else {
            rivalHops = 0
            return false
        }
        let isSame = rivalHops > 0 && abs(estimate.bestCadence / rival - 1) < thresholds.agreement
        rivalHops = isSame ? rivalHops + 1 : 1
        rival = estimate.bestCadence
        guard rivalHops >= thresholds.rivalHops else { return false }
        rivalHops = 0
        return true
    }

    mutating func read(from state: inout DetectorStateReader) {
        isWalking = (state.next() as Double) != 0
        isInDoubt = (state.next() as Double) != 0
        since = state.next()
        sum = state.next()
        odds = state.next()
        estimates = state.next()
        lastGain = state.next()
        rival = state.next()
        rivalHops = state.next()
        isHalved = (state.next() as Double) != 0
        cadences.read(from: &state)
    }

    func write(to state: inout DetectorStateWriter) {
        state.append(isWalking ? 1.0 : 0)
        state.append(isInDoubt ? 1.0 : 0)
        state.append(since)
        state.append(sum)
        state.append(odds)
        state.append(estimates)
        state.append(lastGain)
        state.append(rival)
        state.append(rivalHops)
        state.append(isHalved ? 1.0 : 0)
        cadences.write(to: &state)
    }
}
