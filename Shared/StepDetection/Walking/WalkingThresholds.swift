/// The thresholds of a `StepDetector`.
///
/// Each has a meaning, and is set where the errors on labelled recordings change little around it. The notes of `StepAccuracy`
/// document how they were chosen, and how far that can be trusted.
package struct WalkingThresholds: Hashable, Sendable {
    // MARK: - Is this walking?

    /// The regularity above which a hop is evidence of walking, before a bout and in it. Before a bout it is the best of all
    /// lags, which is sometimes high by chance; in a bout it is the best of the lags near the followed one.
    package var leastRegularity = 0.43
    package var leastRegularityInBout = 0.33
    /// How much a regularity at the step, above `symmetry`, adds. Two legs that move alike make it high at once; a hand at a
    /// table, or a road in a car, hardly ever does.
    package var symmetryWeight = 0.65
    package var symmetry = 0.2
    /// The share of the three axes in the regularity; the rest is the magnitude's. They distinguish a swing of the limb from a
    /// magnitude that is regular by chance.
    package var axesWeight = 0.35
    /// How much an unusual cadence f subtracts: this times (ln f/1.8)², up to a limit. Slow or quick rhythms come from chance and
    /// from other work of the hands, at a table or a sink, more often than from walking.
    package var usualCadence = 1.8
    package var unusualWeight = 0.6
    package var mostUnusual = 0.4
    /// How much the learned log odds of walking add before a bout: the weight times the odds, limited to this range. In a bout
    /// they are not used: a person who walks usually continues.
    package var likelihood = WalkingLikelihood.learned
    package var likelihoodWeight = 0.07
    package var likelihoodRange = -4.0...4
    /// The same for a stream with only the magnitude, for which the odds are less reliable: the weight times the odds plus the
    /// margin, limited to this range. So they delay a bout's beginning more than they hasten it.
    package var magnitudeWeight = 0.05
    package var magnitudeMargin = 1.0
    package var magnitudeRange = -4.0...1
    /// The probability that a bout is walking; it decides nothing.
    package var confidence = WalkingConfidence.learned
    /// The sum of hops' gains that begins a bout: 6 hops of a perfect rhythm, 10 of a moderate one.
    package var enough = 3.0
    /// The largest sum: the reserve of a bout when its rhythm is lost.
    package var most = 3.2
    /// How much the worst hop subtracts, and how much a hop in which another cadence is better by `rivalry`.
    package var mostLoss = 1.0
    package var strayLoss = 0.4
    package var rivalry = 0.15
    /// A hop that subtracts more than this makes the steps since the last hop doubtful: they are held.
    package var doubt = 0.1
    /// How long a bout may continue without evidence of walking, regardless of earlier evidence, in seconds.
    package var longestDoubt = 4.0
    /// How far, as a share, the cadence may be from that of earlier hops, before a bout and in it; and by how much another one
    /// must be better, before a bout, to restart the sum.
    package var agreement = 0.3
    package var tracking = 0.22
    package var rivalryBefore = 0.04
    /// For how many consecutive hops another cadence must be better, and by how much at least, to become the bout's: a bout that
    /// begins at rest has only short lags, and its cadence may be doubled.
    package var rivalHops = 10.0
    package var leastRivalry = 0.03

    // MARK: - Is it large enough?

    /// The least standard deviation of the magnitude in g, before a bout and in it. A phone held in the hand while walking on a
    /// carpet has 0.075 to 0.13.
    package var leastDeviation = 0.055
    package var leastDeviationInBout = 0.037
    /// The same for quick rhythms, in g by cadence squared. A body that rises and falls by h at a cadence f has a standard
    /// deviation of h/2 · (2πf)² / √2 / g = 1.42 f² h: here for 1 cm, a quarter of that of walking. Brushing teeth has less. The
    /// cadence is that of the estimate, or this share of the spectrum's strongest frequency if that is larger: a quick movement
    /// may be estimated at half its cadence.
    package var leastDeviationByCadence = 0.014
    package var strongestShare = 0.8
    /// The most above 6 Hz, as a multiple of the deviation. Only for a known place: at the wrist walking has 0.1 to 0.35,
    /// clapping more than 0.43; a pocket with keys has more than either.
    package var mostAboveSixHertz = Double.infinity
    /// Above this cadence people run, from 140 a minute on (Diedrich and Warren, "Why change gaits?", 1995), and leave the
    /// ground: the magnitude deviates by 0.5 g or more. A movement with a smaller deviation than `leastDeviationOfRun`, and more
    /// above 6 Hz than the multiple `mostAboveSixHertzOfRun` of it, is work of the hands.
    package var quickestWalk = 2.2
    package var leastDeviationOfRun = 0.35
    package var mostAboveSixHertzOfRun = 0.4
    /// The straightness above which a slow and large movement is that of a hand going up and down; walking has 0.53, seldom 0.75.
    package var straightestWalk = 0.8
    /// The regularity at the step below which three strokes of quicker work may be taken for a stride; −1 if all are alike.
    package var mostSymmetryOfStrokes = -0.4

    // MARK: - Which are the steps?

    /// The least swing of a step, as a share of the deviation and of the median of the last eight.
    package var swingByDeviation = 0.75
    package var swingByMedian = 0.25
    /// The same as a share of the least of the last four: a body that comes to rest rises half as far as in a step. That may be
    /// as far as in a step of the weaker leg, but less than in a recent step of either leg.
    package var swingByLeast = 0.45
    /// The least time between two steps, as a share of a step's duration.
    package var refractory = 0.6
    /// The most steps that one gap between two peaks may hold: every other one is weak at the wrist and in a pocket.
    package var longestGap = 4.0
    /// The steps that a bout must have, up to one less if they take more than 3 s; and the share of them that must be peaks.
    package var shortestRun = 5.0
    package var seenShare = 0.8
    /// Above this share of peaks, it cannot be that only every other step was seen.
    package var everyOther = 0.6
    /// How long before the first hop with evidence of a bout the steps may be by which the bout is judged, in seconds: the
    /// rhythm's window reaches back.
    package var lookBack = 2.4
    /// The longest step further back than that, as a multiple of the cadence's: a gap of two steps' length has one missing.
    package var longestStep = 1.5

    /// How much the learned log odds add to a hop's gain.
    func likelihood(_ odds: Double, hasAxes: Bool) -> Double {
        hasAxes
            ? likelihoodWeight * max(likelihoodRange.lowerBound, min(likelihoodRange.upperBound, odds))
            : magnitudeWeight * max(magnitudeRange.lowerBound, min(magnitudeRange.upperBound, odds + magnitudeMargin))
    }

    package init(placement: SensorPlacement = .unknown, strictness: StepStrictness = .normal) {
        switch placement {
        case .unknown: break
        case .phone: leastDeviationByCadence = 0.02
        case .wrist: mostAboveSixHertz = 0.43
        }
        switch strictness {
        case .lenient:
            enough = 2.2
            most = 3
        case .normal: break
        case .strict:
            enough = 4
            most = 4.5
            axesWeight = 0.45
            leastRegularity = 0.5
        }
    }
}
