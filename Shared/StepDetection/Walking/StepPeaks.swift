/// Finds the single steps of a bout: the maxima of the magnitude, smoothed according to the cadence.
///
/// Four low-pass filters always run; the one used is the first whose edge is above 1.15 times the cadence: it removes what is
/// faster than a step, and each step has one maximum. A maximum is a step if it rises far enough above the lowest point since the
/// last step, compared with the deviation and with earlier steps, and is not too close to the last step. If two steps are two or
/// more steps of the cadence apart, the ones between are filled in: at the wrist and in a trouser pocket every other step can be
/// too weak to be seen (otherwise half the steps of some wrists would be lost).
struct StepPeaks: Sendable {
    private static let cutoffs = SIMD4<Double>(1.7, 2.3, 3.0, 4.0)
    private static let margin = 1.15
    /// Eight seconds: how far back the first steps of a bout are searched.
    private static let longestHistory = 200
    /// More steps than a body can make in that time.
    private static let mostPeaks = 64
    /// The delay of each filter at low frequencies: √2 / (2π f) for the second-order Butterworth low pass.
    private static let delays = 0.225079 / cutoffs

    private struct Peak: Hashable, Sendable {
        /// In seconds, including the filter's delay.
        var place: Double
        var swing: Double
    }

    private let thresholds: WalkingThresholds
    private var filter = Filter(
        .lowPass(cutoffs[0], rate: GaitRhythm.rate), .lowPass(cutoffs[1], rate: GaitRhythm.rate),
        .lowPass(cutoffs[2], rate: GaitRhythm.rate), .lowPass(cutoffs[3], rate: GaitRhythm.rate))
    private var history = History(capacity: longestHistory)
    private var swings = RecentMedian(capacity: 8)
    private var band = 0
    private var trough = Float.greatestFiniteMagnitude
    private var lastPlace = -Double.infinity
    private var run: [Peak] = []
    /// Steps made in doubt, to be credited if the rhythm returns.
    private var held: [Double] = []
    /// Whether the bout's first steps have been credited.
    private var isCounting = false
    /// The time of the last step that was credited.
    private var lastStep = -Double.infinity
    /// The probability that the bout is walking, by the last estimate.
    private var confidence = 0.0
    /// The bout's credited steps, and how many of them are expected to be true.
    private var credited = 0.0
    private var expected = 0.0

    init(_ thresholds: WalkingThresholds) {
        self.thresholds = thresholds
        run.reserveCapacity(Self.mostPeaks)
        held.reserveCapacity(Self.mostPeaks)
    }

    /// Restarts: earlier samples are not connected with later ones.
    mutating func restart(at value: SIMD4<Float>) {
        filter.settle(at: SIMD4(repeating: value.x))
        history.removeAll()
        lastPlace = -.infinity
    }

    @inline(__always)
    mutating func append(_ cell: SIMD4<Float>) {
        history.append(filter(SIMD4(repeating: cell.x)))
    }

    /// Ends the bout and drops held steps.
    mutating func end(_ event: (WalkingEvent) -> Void) {
        if isCounting {
            event(.ended(at: lastStep))
            // The held steps may yet be the beginning of the next bout.
            if !held.isEmpty { lastPlace = lastStep + Self.delays[band] }
        }
        held.removeAll(keepingCapacity: true)
        swings.removeAll()
        isCounting = false
    }

    /// Takes the last estimate; the newest cell is at `now`.
    ///
    /// - Returns: false if the cadence must be twice the true one: a bout would begin, but every other step is missing.
    mutating func follow(
        _ evidence: WalkingEvidence, deviation: Double, now: Double, _ event: (WalkingEvent) -> Void
    ) -> Bool {
        let edge = Self.margin * evidence.cadence
        var newBand = 0
        while newBand < 3, Self.cutoffs[newBand] <= edge { newBand += 1 }
        if newBand != band { trough = .greatestFiniteMagnitude }
        band = newBand
        confidence = evidence.confidence
        if !isCounting {
            return begin(evidence, deviation: deviation, now: now, event)
        }
        if !evidence.isInDoubt, !held.isEmpty {
            for time in held { credit(time, cadence: evidence.cadence, now: now, event) }
            held.removeAll(keepingCapacity: true)
        }
        return true
    }

    /// Checks whether the cell before the newest one, which is at `now`, is a step of the bout.
    mutating func look(
        _ evidence: WalkingEvidence, deviation: Double, now: Double, _ event: (WalkingEvent) -> Void
    ) {
        guard isCounting, history.count > 2, let swing = maximum(age: 1),
            swing > thresholds.swingByDeviation * deviation,
            swings.count <= 2 || swing > thresholds.swingByMedian * swings.value,
            swing > thresholds.swingByLeast * swings.least(ofLast: 4)
        else { return }
        let peak = Peak(place: now - 1 / GaitRhythm.rate, swing: swing)
        guard peak.place - lastPlace > thresholds.refractory / evidence.cadence else { return }
        take(peak, cadence: evidence.cadence, isHeld: evidence.isInDoubt, now: now, event)
    }

    /// Credits a bout's first steps: the run of peaks that lasts until now.
    private mutating func begin(
        _ evidence: WalkingEvidence, deviation: Double, now: Double, _ event: (WalkingEvent) -> Void
    ) -> Bool {
        guard deviation > thresholds.leastDeviation else { return true }
        let cadence = evidence.cadence
        let seconds = now - evidence.since + thresholds.lookBack
        let least = thresholds.swingByDeviation * deviation
        let cells = Int(seconds * GaitRhythm.rate)
        collect(cells: cells, least: least, cadence: cadence, now: now)
        guard let first = run.first, let last = run.last, now - last.place < 2 / cadence else { return true }
        let steps = (last.place - first.place) * cadence + 1
        let fewest = thresholds.shortestRun - min(1, max(0, thresholds.shortestRun - 1 - 3 * cadence))
        guard steps >= fewest - 0.5 else { return true }
        let seen = Double(run.count) / steps
        guard seen >= thresholds.seenShare else { return seen > thresholds.everyOther }
        if evidence.isLikely {
            collect(cells: history.count, least: least, cadence: cadence, now: now, unbroken: first.place)
            // A peak just before the first one may have displaced it.
            if run.first.map({ $0.place > first.place }) ?? true {
                collect(cells: cells, least: least, cadence: cadence, now: now)
            }
        }
        isCounting = true
        (credited, expected) = (0, 0)
        lastPlace = -.infinity
        event(.began(at: (run.first?.place ?? now) - Self.delays[band]))
        for peak in run { take(peak, cadence: cadence, isHeld: false, now: now, event) }
        return true
    }

    /// Finds the run of peaks that lasts until now.
    ///
    /// - Parameters:
    ///   - cells: how far back it may reach.
    ///   - unbroken: a place before which no step may be missing.
    private mutating func collect(
        cells: Int, least: Double, cadence: Double, now: Double, unbroken: Double = -.infinity
    ) {
        let apart = thresholds.refractory / cadence
        run.removeAll(keepingCapacity: true)
        trough = .greatestFiniteMagnitude
        for age in stride(from: min(history.count, cells) - 2, through: 1, by: -1) {
            guard let swing = maximum(age: age), swing > least else { continue }
            let peak = Peak(place: now - Double(age) / GaitRhythm.rate, swing: swing)
            guard peak.place - (run.last?.place ?? lastPlace) > apart else { continue }
            if let last = run.last {
                let most = last.place < unbroken ? thresholds.longestStep : thresholds.longestGap + 0.5
                if peak.place - last.place > most / cadence { run.removeAll(keepingCapacity: true) }
            }
            guard run.count < Self.mostPeaks else { break }
            run.append(peak)
            trough = .greatestFiniteMagnitude
        }
    }

    /// How far the maximum at `age` rises above the lowest point since the last step; nil if there is no maximum.
    private mutating func maximum(age: Int) -> Double? {
        let here = history[age: age][band]
        trough = min(trough, here)
        guard here > history[age: age + 1][band], here >= history[age: age - 1][band] else { return nil }
        return Double(here - trough)
    }

    private mutating func take(
        _ peak: Peak, cadence: Double, isHeld: Bool, now: Double, _ event: (WalkingEvent) -> Void
    ) {
        let gap = peak.place - lastPlace
        let steps = (gap * cadence).rounded()
        if steps >= 2, steps <= thresholds.longestGap {
            for step in 1..<Int(steps) {
                give(lastPlace + gap * Double(step) / steps, cadence: cadence, isHeld: isHeld, now: now, event)
            }
        }
        give(peak.place, cadence: cadence, isHeld: isHeld, now: now, event)
        lastPlace = peak.place
        swings.append(peak.swing)
        trough = .greatestFiniteMagnitude
    }

    private mutating func give(
        _ place: Double, cadence: Double, isHeld: Bool, now: Double, _ event: (WalkingEvent) -> Void
    ) {
        let time = place - Self.delays[band]
        if !isHeld {
            credit(time, cadence: cadence, now: now, event)
        } else if held.count < Self.mostPeaks {
            held.append(time)
        }
    }

    private mutating func credit(_ time: Double, cadence: Double, now: Double, _ event: (WalkingEvent) -> Void) {
        lastStep = time
        credited += 1
        let before = expected
        expected = credited * confidence
        event(
            .step(
                Step(
                    time: time, creditedAt: now, cadence: cadence, confidence: confidence, expected: expected - before))
        )
    }

    mutating func read(from state: inout DetectorStateReader) {
        filter.read(from: &state)
        history.read(from: &state)
        swings.read(from: &state)
        band = max(0, min(3, Int(exactly: state.next() as Double) ?? 0))
        trough = Float(state.next() as Double)
        lastPlace = state.next()
        lastStep = state.next()
        confidence = state.next()
        credited = state.next()
        expected = state.next()
        isCounting = (state.next() as Double) != 0
        for _ in 0..<min(Self.mostPeaks, Int(exactly: state.next() as Double) ?? 0) { held.append(state.next()) }
    }

    func write(to state: inout DetectorStateWriter) {
        filter.write(to: &state)
        history.write(to: &state)
        swings.write(to: &state)
        state.append(Double(band))
        state.append(Double(trough))
        state.append(lastPlace)
        state.append(lastStep)
        state.append(confidence)
        state.append(credited)
        state.append(expected)
        state.append(isCounting ? 1.0 : 0)
        state.append(Double(held.count))
        for time in held { state.append(time) }
    }
}
