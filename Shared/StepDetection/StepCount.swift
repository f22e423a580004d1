import Messages
package import TextInput

/// The steps in a recording.
package struct StepCount: Codable, Hashable, Sendable {
    /// A bout of walking.
    package struct Bout: Codable, Hashable, Sendable {
        /// The times of its first and last step, in seconds.
        package var start: Double
        package var end: Double
        package var steps: Int

        /// Steps a second; nil for a bout without length.
        package var cadence: Double? { end > start ? Double(steps - 1) / (end - start) : nil }
    }

    package private(set) var samples = 0
    /// Rows that were neither samples nor a recording's markers.
    package private(set) var leftOut = 0
    /// How often the next sample came so late, more than a second, that counting began anew.
    package private(set) var gaps = 0
    /// The times of the first and the last sample, in seconds; nil where there is none.
    package private(set) var start: Double?
    package private(set) var end: Double?
    package private(set) var steps: [Step] = []
    package private(set) var bouts: [Bout] = []

    /// Steps a second while walking; nil where there was no walking.
    package var cadence: Double? {
        let seconds = bouts.reduce(0) { $0 + $1.end - $1.start }
        return seconds > 0 ? Double(steps.count - bouts.count) / seconds : nil
    }

    package init() {}

    /// Counts the steps in a file of accelerations, plain or compressed with gzip.
    ///
    /// - Parameter perG: how much 1 g is in the file's unit; nil for what a recording says, or to tell it from the first second.
    /// - Throws: `unreadable` or `invalidInput`, saying what is wrong with the file.
    package init(
        ofFile path: String, perG: Double? = nil, placement: SensorPlacement = .unknown,
        strictness: StepStrictness = .normal
    ) throws(TextInputError) {
        try self.init(ofFiles: [path], perG: perG, placement: placement, strictness: strictness)
    }

    /// Counts the steps in the files of one recording, in order.
    package init(
        ofFiles paths: [String], perG: Double? = nil, placement: SensorPlacement = .unknown,
        strictness: StepStrictness = .normal
    ) throws(TextInputError) {
        var count = StepCount()
        var perG = perG
        var first: [SIMD4<Double>] = []
        var isBegun = false
        var detector = StepDetector()
        func begin() {
            isBegun = true
            detector = StepDetector(
                StepDetectorSettings(
                    perG: perG ?? Self.perG(of: first), placement: placement, strictness: strictness))
            for sample in first { count.add(sample, to: &detector) }
        }
        for path in paths {
            try AccelerationFile.forEachRow(path) { (row) throws(TextInputError) in
                switch row {
                case .sample(let sample) where isBegun:
                    count.add(sample, to: &detector)
                case .sample(let sample):
                    first.append(sample)
                    if sample.x - first[0].x >= 1 || first.count >= 1000 { begin() }
                case .marker(let unit?):
                    guard let unit = AccelerationUnit(unit) else {
                        throw TextInputError(
                            .invalidInput, "the unit is \(unit): steps are counted in accelerations, in g or m/s2")
                    }
                    if perG == nil { perG = unit.perG }
                case .marker(nil): break
                case .none: count.leftOut += 1
                }
            }
        }
        if !isBegun { begin() }
        guard count.gaps * 2 <= count.samples else {
            throw TextInputError(
                .invalidInput,
                "\(paths[0]): most samples are more than \(Int(StepDetector.longestGap)) s apart: times must be in seconds, and "
                    + "walking needs 12.5 samples a second or more")
        }
        self = count
    }

    /// Takes a sample: seconds, and three axes.
    package mutating func add(_ sample: SIMD4<Double>, to detector: inout StepDetector) {
        samples += 1
        start = start ?? sample.x
        if let end, sample.x - end > StepDetector.longestGap { gaps += 1 }
        end = sample.x
        detector.add(time: sample.x, x: sample.y, y: sample.z, z: sample.w) { add($0) }
    }

    private mutating func add(_ event: WalkingEvent) {
        switch event {
        case .began(let time): bouts.append(Bout(start: time, end: time, steps: 0))
        case .step(let step):
            steps.append(step)
            guard !bouts.isEmpty else { return }
            bouts[bouts.count - 1].steps += 1
            bouts[bouts.count - 1].end = step.time
        case .ended: break
        }
    }

    /// Gravity is 1 in g and 9.8 in m/s²: whatever moved, the median tells which.
    private static func perG(of samples: [SIMD4<Double>]) -> Double {
        let squares = samples.map { $0.y * $0.y + $0.z * $0.z + $0.w * $0.w }.sorted()
        guard !squares.isEmpty, squares[squares.count / 2] > StepDetectorSettings.standardGravity else { return 1 }
        return StepDetectorSettings.standardGravity
    }
}
