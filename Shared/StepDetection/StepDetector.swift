/// Detects the steps of a person who wears an accelerometer, sample by sample, without looking ahead.
///
/// Takes samples of any rate from 12.5 to 400 Hz, jittered and with some missing, however the device is turned; only times
/// and, for the main part, the magnitude matter. A stream that has the magnitude only, on one axis, will do. Gravity must be in
/// the samples. Steps come out with their times; a bout's first ones together, once walking is certain.
///
/// Stages, each described where it lives:
/// 1. `SampleClock` takes the jitter from the time stamps, `UniformGrid` makes means of 40 ms of the samples. 25 Hz are
///    enough: walking has nothing to tell above 6 Hz, and a watch's 12.5 Hz and a phone's 400 Hz come out alike.
/// 2. The magnitude and the axes are band-passed, 0.5 to 6 Hz (`Butterworth`, second order each). No magnitude is ever compared
///    with 1 g, so that a sensor's bias does not matter.
/// 3. Every 0.24 s `GaitRhythm` finds the cadence, and how regular the last seconds are from stride to stride.
/// 4. `MotionCharacter` says what the movement is like besides, and `WalkingLikelihood` how likely that is of walking.
/// 5. `WalkingEvidence` adds up what these say, and so decides when a bout begins and ends.
///    `WalkingConfidence` says of each bout how likely it is walking.
/// 6. `StepPeaks` finds the steps. A bout's first ones are credited together; a step made while the evidence shrinks is held,
///    and credited when the rhythm is back: what follows the end of a walk, as when a phone is put away, is not counted.
///
/// What was learned from others: peaks after smoothing, behind a gate on the deviation, do best of what is published for
/// phones (Brajdic and Harle, "Walk detection and step counting on unconstrained smartphones", UbiComp 2013); a gate on
/// periodicity is what free living asks for (Straczkiewicz et al., 2023; Small et al., 2024).
///
/// A value: a copy continues by itself. No memory is allocated while samples are added. How samples are batched changes nothing.
package struct StepDetector: Sendable {
    /// Seconds between two samples from which they are not connected: a bout ends.
    package static let longestGap = 1.0
    /// The magnitude in g that no sensor can mean.
    private static let most: Float = 1000

    /// What the detector was told.
    package let settings: StepDetectorSettings

    private let perG: Double
    private var clock = SampleClock()
    private var grid = UniformGrid(cell: 1 / GaitRhythm.rate, longestGap: longestGap)
    private var highPass = Filter(.highPass(0.5, rate: GaitRhythm.rate))
    private var lowPass = Filter(.lowPass(6, rate: GaitRhythm.rate))
    private var character = MotionCharacter()
    private var cells = History(capacity: LagProducts.reach)
    private var rhythm = GaitRhythm()
    private var evidence: WalkingEvidence
    private var peaks: StepPeaks
    private let leastDeviation: Double
    private let likelihood: WalkingLikelihood
    /// What the last estimate's seconds were like, for the training of `WalkingLikelihood`; nil if nothing moved.
    package private(set) var features: SIMD16<Float>?
    /// The mean log odds of walking since a bout may have begun, and of how many estimates, for the training of `WalkingConfidence`.
    package var odds: (mean: Double, estimates: Double) {
        (evidence.odds / max(1, evidence.estimates), evidence.estimates)
    }
    /// Of the magnitude, in g, when something last moved.
    private var deviation = 0.0

    package init(_ settings: StepDetectorSettings = StepDetectorSettings()) {
        self.init(settings, WalkingThresholds(placement: settings.placement, strictness: settings.strictness))
    }

    /// For experiments: with other figures than those of the settings.
    package init(_ settings: StepDetectorSettings, _ thresholds: WalkingThresholds) {
        self.settings = settings
        perG = settings.perG
        evidence = WalkingEvidence(thresholds)
        peaks = StepPeaks(thresholds)
        likelihood = thresholds.likelihood
        leastDeviation = thresholds.leastDeviationInBout
    }

    /// Steps a second while walking, else nil.
    package var cadence: Double? { evidence.isWalking ? evidence.cadence : nil }

    /// Adds a sample; `event` gets what it brings about, in order.
    ///
    /// - Parameters:
    ///   - time: seconds on any clock. A sample that is not later than the one before is left out, as is one that is not a
    ///     number, or of 1,000 g; after more than a second without one, everything begins anew.
    ///   - x: the specific force along an axis, as y and z, in the unit of the settings.
    @inline(__always)
    package mutating func add(time: Double, x: Double, y: Double, z: Double, _ event: (WalkingEvent) -> Void) {
        let (x, y, z) = (x / perG, y / perG, z / perG)
        let value = SIMD4<Float>(SIMD4((x * x + y * y + z * z).squareRoot(), x, y, z))
        guard value.x < Self.most, let time = clock.add(time) else { return }
        // Taken out, as the cells that it completes change the rest.
        var grid = self.grid
        let outcome = grid.add(value, at: time) { end, mean in append(mean, end: end, event) }
        self.grid = grid
        if case .begins = outcome { restart(at: value, time: time, event) }
    }

    private mutating func restart(at value: SIMD4<Float>, time: Double, _ event: (WalkingEvent) -> Void) {
        highPass.settle(at: value)
        lowPass.settle(at: SIMD4())
        character.settle(at: value)
        cells.removeAll()
        rhythm.removeAll()
        evidence.reset(at: time)
        peaks.end(event)
        peaks.restart(at: value)
    }

    private mutating func append(_ mean: SIMD4<Float>, end: Double, _ event: (WalkingEvent) -> Void) {
        let moving = highPass(mean)
        var passed = lowPass(moving)
        character.append(mean, moving: moving, passed: passed)
        passed.x = Float(signOf: passed.x, magnitudeOf: passed.x.magnitude.squareRoot())
        cells.append(passed)
        peaks.append(mean)
        let now = end - 0.5 * grid.cell
        if rhythm.append(passed.x) { estimate(now: now, event) }
        if evidence.isWalking { peaks.look(evidence, deviation: deviation, now: now, event) }
    }

    private mutating func estimate(now: Double, _ event: (WalkingEvent) -> Void) {
        let wasWalking = evidence.isWalking
        let estimate = rhythm.estimate(
            cells, following: evidence.followed, width: evidence.width, isWalking: evidence.isWalking,
            least: leastDeviation)
        let features = estimate.map { character.features(of: $0) }
        self.features = features
        let odds = features.map { likelihood($0) } ?? 0
        evidence.weigh(estimate, above: character.aboveSixHertz, odds: odds, at: now)
        if evidence.isWalking {
            deviation = estimate?.deviation ?? deviation
            if !peaks.follow(evidence, deviation: deviation, now: now, event) { evidence.halve() }
        } else if wasWalking {
            peaks.end(event)
        }
    }
}

extension StepDetector {
    /// Tells states of this layout from later ones.
    private static let stateVersion = 5.0

    /// All that the detector knows, at most 7.5 kB: a detector made from it continues as if nothing had happened.
    ///
    /// Numbers, little-endian, in an order that belongs to this version of the detector; not for other programs.
    package var state: [UInt8] {
        var state = DetectorStateWriter()
        state.append(Self.stateVersion)
        clock.write(to: &state)
        grid.write(to: &state)
        highPass.write(to: &state)
        lowPass.write(to: &state)
        character.write(to: &state)
        cells.write(to: &state)
        state.append(Double(rhythm.cellsInBlock))
        state.append(deviation)
        evidence.write(to: &state)
        peaks.write(to: &state)
        return state.bytes
    }

    /// A detector that continues from a state; nil if the state is of another version or damaged.
    ///
    /// - Parameter settings: must be those of the detector whose state it was.
    package init?(state bytes: [UInt8], _ settings: StepDetectorSettings = StepDetectorSettings()) {
        self.init(settings)
        var state = DetectorStateReader(bytes)
        guard state.next() == Self.stateVersion else { return nil }
        clock.read(from: &state)
        grid = UniformGrid(cell: grid.cell, longestGap: grid.longestGap, state: &state)
        highPass.read(from: &state)
        lowPass.read(from: &state)
        character.read(from: &state)
        cells.read(from: &state)
        rhythm.restore(cells, cells: max(0, min(LagProducts.block - 1, Int(exactly: state.next() as Double) ?? 0)))
        deviation = state.next()
        evidence.read(from: &state)
        peaks.read(from: &state)
        guard state.isComplete else { return nil }
    }
}
