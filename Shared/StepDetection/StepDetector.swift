/// Detects the steps of a person who wears an accelerometer, sample by sample, without looking ahead.
///
/// It accepts samples at any rate from 12.5 to 400 Hz, with jitter and missing samples, in any orientation of the device: only
/// times and, mostly, the magnitude matter. A stream with only the magnitude, on one axis, is enough. Samples must include
/// gravity. Steps are reported with their times; a bout's first ones together, once walking is certain.
///
/// The stages are documented at their types:
/// 1. `SampleClock` removes the jitter of timestamps, `UniformGrid` converts the samples to means over 40 ms. 25 Hz are enough:
///    walking has no information above 6 Hz, and a watch's 12.5 Hz and a phone's 400 Hz give the same result.
/// 2. The magnitude and the axes are band-passed, 0.5 to 6 Hz (`Butterworth`, second order each). The magnitude is never compared
///    with 1 g, so a sensor's bias does not matter.
/// 3. Every 0.24 s `GaitRhythm` finds the cadence, and how regular the last seconds are from stride to stride.
/// 4. `MotionCharacter` describes the movement apart from its rhythm, and `WalkingLikelihood` estimates how likely it is walking.
/// 5. `WalkingEvidence` sums up these estimates, and so decides when a bout begins and ends. `WalkingConfidence` estimates for
///    each bout how likely it is walking.
/// 6. `StepPeaks` finds the steps. A bout's first ones are credited together. A step made while the evidence shrinks is held, and
///    credited when the rhythm is back: movements after the end of a walk, as when a phone is put away, are not counted.
///
/// What was learned from others: of the published methods, peaks after smoothing, behind a gate on the deviation, do best for
/// phones (Brajdic and Harle, "Walk detection and step counting on unconstrained smartphones", UbiComp 2013); free living needs a
/// gate on periodicity (Straczkiewicz et al., 2023; Small et al., 2024).
///
/// A value: copies are independent. Adding samples allocates no memory. The batching of samples has no effect.
package struct StepDetector: Sendable {
    /// From this many seconds between two samples on, they are not connected: a bout ends.
    package static let longestGap = 1.0
    /// A magnitude, in g, that no sensor can measure.
    private static let most: Float = 1000

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
    /// The features of the last estimate's seconds, for the training of `WalkingLikelihood`; nil if nothing moved.
    package private(set) var features: SIMD16<Float>?
    /// The mean log odds of walking since a bout may have begun, and the number of estimates, for the training of
    /// `WalkingConfidence`.
    package var odds: (mean: Double, estimates: Double) {
        (evidence.odds / max(1, evidence.estimates), evidence.estimates)
    }
    /// The deviation of the magnitude, in g, when the device last moved.
    private var deviation = 0.0

    package init(_ settings: StepDetectorSettings = StepDetectorSettings()) {
        self.init(settings, WalkingThresholds(placement: settings.placement, strictness: settings.strictness))
    }

    /// For experiments: with thresholds other than those of the settings.
    package init(_ settings: StepDetectorSettings, _ thresholds: WalkingThresholds) {
        self.settings = settings
        perG = settings.perG
        evidence = WalkingEvidence(thresholds)
        peaks = StepPeaks(thresholds)
        likelihood = thresholds.likelihood
        leastDeviation = thresholds.leastDeviationInBout
    }

    /// Steps a second while walking, otherwise nil.
    package var cadence: Double? { evidence.isWalking ? evidence.cadence : nil }

    /// Adds a sample; `event` gets the resulting events, in order.
    ///
    /// - Parameters:
    ///   - time: seconds on any clock. A sample that is not later than the one before is left out, as is one that is not a number
    ///     or has 1,000 g or more. After more than a second without samples, detection restarts.
    ///   - x: the specific force along an axis, like y and z, in the unit of the settings.
    @inline(__always)
    package mutating func add(time: Double, x: Double, y: Double, z: Double, _ event: (WalkingEvent) -> Void) {
        let (x, y, z) = (x / perG, y / perG, z / perG)
        let value = SIMD4<Float>(SIMD4((x * x + y * y + z * z).squareRoot(), x, y, z))
        guard value.x < Self.most, let time = clock.add(time) else { return }
        // Moved out, because the cells that it completes modify `self`.
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
    /// The version of the layout of states.
    private static let stateVersion = 5.0

    /// The detector's whole state, at most 7.5 kB: a detector made from it continues without a difference.
    ///
    /// Little-endian numbers, in an order that is private to this version of the detector.
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
    /// - Parameter settings: must be those of the detector that made the state.
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
