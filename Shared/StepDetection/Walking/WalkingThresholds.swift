/// The figures that a `StepDetector` decides by.
///
/// Each has a meaning, and stands where the errors on labelled recordings change little around it: see the notes of
/// `StepAccuracy` for how they were chosen and what that is worth.
package struct WalkingThresholds: Hashable, Sendable {
    // MARK: - Is this walking?

    /// The regularity from which a hop speaks for walking, before a bout and in it. Before it the best of all lags is taken,
    /// which is high by chance now and then; in it only lags near the one that is followed.
    package var leastRegularity = 0.43
    package var leastRegularityInBout = 0.33
    /// How much a regularity at the step, above `symmetry`, adds. Two legs that move alike make it high at once; what a hand
    /// does at a table, or a road to a car, hardly ever.
    package var symmetryWeight = 0.65
    package var symmetry = 0.2
    /// The share of the three axes in the regularity; the rest is the magnitude's. They tell a swing of the limb from a
    /// magnitude that is regular by chance.
    package var axesWeight = 0.35
    /// How much an unusual cadence f takes away: this times (ln f/1.8)², and at most so much. What is slow or quick is had by
    /// chance and by other work of the hands, at a table or a sink, more often than by walking.
    package var usualCadence = 1.8
    package var unusualWeight = 0.6
    package var mostUnusual = 0.4
    /// What the learned log odds of walking add before a bout: the weight times the odds, in this range. In a bout they say
    /// nothing: what walks goes on.
    package var likelihood = WalkingLikelihood.learned
    package var likelihoodWeight = 0.07
    package var likelihoodRange = -4.0...4
    /// The same for a stream that has the magnitude only, of which the odds know less: the weight times the odds plus the
    /// margin. So they slow down a bout's beginning more than they hasten it.
    package var magnitudeWeight = 0.05
    package var magnitudeMargin = 1.0
    package var magnitudeRange = -4.0...1
    /// How likely a bout is walking; it decides nothing.
    package var confidence = WalkingConfidence.learned
    /// The sum of what hops say that begins a bout: 6 hops of a perfect rhythm, 10 of a middling one.
    package var enough = 3.0
    /// The most that is remembered: what a bout lives on when its rhythm is lost.
    package var most = 3.2
    /// What the worst hop takes away, and one in which another cadence is better by `rivalry`.
    package var mostLoss = 1.0
    package var strayLoss = 0.4
    package var rivalry = 0.15
    /// A hop that takes away more than this makes the steps since the last one doubtful: they are held.
    package var doubt = 0.1
    /// How long nothing may speak for walking before a bout is over, whatever was before, in seconds.
    package var longestDoubt = 4.0
    /// How far, as a share, the cadence may be from that of the hops before it, before a bout and in it; and by how much
    /// another one must be better, before a bout, to begin anew.
    package var agreement = 0.3
    package var tracking = 0.22
    package var rivalryBefore = 0.04
    /// For how many hops on end one other cadence must be better, and by how much at least, to become the bout's: a bout that
    /// begins at rest has only short lags to go by, and may be taken for twice as quick.
    package var rivalHops = 10.0
    package var leastRivalry = 0.03

    // MARK: - Is it large enough?

    /// The least standard deviation of the magnitude in g, before a bout and in it. A phone held in the hand by one who walks
    /// on a carpet has 0.075 to 0.13.
    package var leastDeviation = 0.055
    package var leastDeviationInBout = 0.037
    /// The same for quick rhythms, in g by cadence squared. A body that goes up and down by h at a cadence f has a standard
    /// deviation of h/2 · (2πf)² / √2 / g = 1.42 f² h: 1 cm, a quarter of what walking has. Brushing teeth has less. For f the
    /// cadence is taken, or this share of the spectrum's strongest frequency: what is quick may be taken for half as quick.
    package var leastDeviationByCadence = 0.014
    package var strongestShare = 0.8
    /// The most that may be above 6 Hz, as a multiple of the deviation. Only for a known place: at the wrist walking has
    /// 0.1 to 0.35, clapping more than 0.43; a pocket with keys has more than either.
    package var mostAboveSixHertz = Double.infinity
    /// Above this cadence people run, from 140 a minute on (Diedrich and Warren, "Why change gaits?", 1995), and leave the
    /// ground: the magnitude deviates by 0.5 g or more. What has less than this, and more above 6 Hz than this multiple of
    /// the deviation, is work of the hands.
    package var quickestWalk = 2.2
    package var leastDeviationOfRun = 0.35
    package var mostAboveSixHertzOfRun = 0.4
    /// The straightness from which a slow and large movement is a hand's that goes up and down; walking has 0.53, and seldom 0.75.
    package var straightestWalk = 0.8
    /// The regularity at the step below which three strokes of quicker work may be taken for a stride; −1 if they are all alike.
    package var mostSymmetryOfStrokes = -0.4

    // MARK: - Which are the steps?

    /// The least swing of a step, as a share of the deviation and of the median of the last eight.
    package var swingByDeviation = 0.75
    package var swingByMedian = 0.25
    /// And as a share of the least of the last four: the body that comes to rest rises half as far as in a step, which may be
    /// as far as in a step of the weaker leg, but not so soon after both.
    package var swingByLeast = 0.45
    /// The least time between two steps, as a share of a step's.
    package var refractory = 0.6
    /// The most steps that one gap between two peaks may hold: every other one is weak at the wrist and in a pocket.
    package var longestGap = 4.0
    /// The steps that a bout must have, of which one less will do where they take 3 s, and the share that must be peaks.
    package var shortestRun = 5.0
    package var seenShare = 0.8
    /// The share from which on it is not every other step that is seen.
    package var everyOther = 0.6
    /// How long before the first hop that spoke for a bout the steps may lie by which it is judged, in seconds: the rhythm's window
    /// reaches back.
    package var lookBack = 2.4
    /// The longest step that may lie further back than that, as a multiple of the cadence's: with two of these one is missing.
    package var longestStep = 1.5

    /// What the learned log odds add to a hop's gain.
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
