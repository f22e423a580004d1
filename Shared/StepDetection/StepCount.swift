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
        /// The probability that it is walking, from 0 to 1.
        package var confidence: Double
    }

    package private(set) var samples = 0
    /// Rows that were neither samples nor a recording's markers.
    package private(set) var leftOut = 0
    /// How often counting restarted because the next sample was more than a second late.
    package private(set) var gaps = 0
    /// The part of the time from the first to the last sample in which no steps were counted, in seconds: these gaps, less the
    /// time by which a clock was set back.
    package private(set) var uncountedTime = 0.0
    /// The times of the first and the last sample, in seconds; nil if there is none.
    package private(set) var start: Double?
    package private(set) var end: Double?
    package private(set) var steps: [Step] = []
    package private(set) var bouts: [Bout] = []

    /// Steps a second while walking; nil without walking.
    package var cadence: Double? {
        let seconds = bouts.reduce(0) { $0 + $1.end - $1.start }
        return seconds > 0 ? Double(steps.count - bouts.count) / seconds : nil
    }

    /// The share of the time from the first to the last sample that was counted, from 0 to 1; nil if that time is empty.
    package var coverage: Double? {
        guard let start, let end, end > start else { return nil }
        return min(1, max(0, 1 - uncountedTime / (end - start)))
    }

    /// The expected number of true steps.
    package var expected: Double { steps.reduce(0) { $0 + $1.expected } }

    package init() {}

    /// Counts the steps in a file of accelerations, plain or compressed with gzip.
    ///
    /// - Parameter perG: 1 g in the file's unit; nil to use the recording's unit, or to determine it from the first second.
    /// - Throws: `unreadable` or `invalidInput`, with what is wrong with the file.
    package init(
        ofFile path: String, perG: Double? = nil, placement: SensorPlacement = .unknown,
        strictness: StepStrictness = .normal
    ) throws(TextInputError) {
        try self.init(ofFiles: [path], perG: perG, placement: placement, strictness: strictness)
    }

    /// Counts the steps in the files of one recording, in order. There are none if all files of a stream were deleted.
    package init(
        ofFiles paths: [String], perG: Double? = nil, placement: SensorPlacement = .unknown,
        strictness: StepStrictness = .normal
    ) throws(TextInputError) {
        var time = SampleTime()
        try self.init(of: paths.first ?? "", perG: perG, placement: placement, strictness: strictness) {
            (take) throws(TextInputError) in
            for path in paths {
                var file = try AccelerationFile(path, time)
                defer { time = file.time }
                while let row = try file.next() { try take(row, path) }
            }
        }
        delay(by: Double(time.origin))
    }

    /// Takes a row, and the name of its file for messages.
    package typealias Take = (_ row: AccelerationRow, _ file: String) throws(TextInputError) -> Void

    /// Counts the steps in a recording that the caller reads.
    ///
    /// - Parameters:
    ///   - name: the recording's name, for messages.
    ///   - read: passes each row, in order.
    package init(
        of name: String, perG: Double? = nil, placement: SensorPlacement = .unknown,
        strictness: StepStrictness = .normal, reading read: (Take) throws(TextInputError) -> Void
    ) throws(TextInputError) {
        self.init()
        var count = self
        let isGiven = perG != nil
        // 1 g in the detector's unit, and the factors from the next sample's unit to it: a recording's unit may change.
        var perG = perG
        var scale = SIMD4<Double>(repeating: 1)
        // Samples before the unit is known.
        var first: [SIMD4<Double>] = []
        var isBegun = false
        var detector = StepDetector()
        try read { (row, file) throws(TextInputError) in
            switch row {
            case .sample(let sample) where isBegun:
                count.add(sample * scale, to: &detector)
            case .sample(let sample):
                first.append(sample * scale)
                guard sample.x - first[0].x >= 1 || first.count >= 1000 else { return }
                isBegun = true
                let settings = StepDetectorSettings(perG: perG, of: first, placement, strictness)
                perG = settings.perG
                detector = count.begin(first, settings)
            case .marker(let unit?):
                guard let unit = AccelerationUnit(unit) else {
                    throw TextInputError(
                        .invalidInput,
                        "\(file): the unit is \(unit): steps are counted in accelerations, in g or m/s2")
                }
                if isGiven { return }
                let own = perG ?? unit.perG
                perG = own
                let factor = own / unit.perG
                scale = SIMD4(1, factor, factor, factor)
            case .marker(nil): break
            case .none: count.leftOut += 1
            }
        }
        if !isBegun { _ = count.begin(first, StepDetectorSettings(perG: perG, of: first, placement, strictness)) }
        self = count
        // A single such row may be the incomplete end of a file that is being written.
        guard samples > 0 || leftOut <= 1 else {
            throw TextInputError(
                .invalidInput,
                "\(name): no row is a sample: an acceleration has a time with x, y and z, or with its magnitude as x or "
                    + "magnitude")
        }
        guard gaps * 2 <= samples else {
            throw TextInputError(
                .invalidInput,
                "\(name): most samples are more than \(Int(StepDetector.longestGap)) s apart: times must be in seconds, and "
                    + "walking needs 12.5 samples a second or more")
        }
    }

    /// Converts times relative to an origin to the recording's clock.
    private mutating func delay(by origin: Double) {
        if origin == 0 { return }
        start = start.map { $0 + origin }
        end = end.map { $0 + origin }
        for index in steps.indices {
            steps[index].time += origin
            steps[index].creditedAt += origin
        }
        for index in bouts.indices {
            bouts[index].start += origin
            bouts[index].end += origin
        }
    }

    /// Counts the first samples.
    /// - Returns: the detector that continues.
    private mutating func begin(_ first: [SIMD4<Double>], _ settings: StepDetectorSettings) -> StepDetector {
        var detector = StepDetector(settings)
        for sample in first { add(sample, to: &detector) }
        return detector
    }

    /// Takes a sample: seconds and three axes.
    package mutating func add(_ sample: SIMD4<Double>, to detector: inout StepDetector) {
        samples += 1
        start = start ?? sample.x
        if let end {
            let step = sample.x - end
            if step > StepDetector.longestGap { gaps += 1 }
            // A clock that is set ahead and back, or a single wrong time, adds nothing in the end.
            if !(0...StepDetector.longestGap).contains(step) { uncountedTime += step }
        }
        end = sample.x
        detector.add(time: sample.x, x: sample.y, y: sample.z, z: sample.w) { add($0) }
    }

    private mutating func add(_ event: WalkingEvent) {
        switch event {
        case .began(let time): bouts.append(Bout(start: time, end: time, steps: 0, confidence: 0))
        case .step(let step):
            steps.append(step)
            guard !bouts.isEmpty else { return }
            bouts[bouts.count - 1].steps += 1
            bouts[bouts.count - 1].end = step.time
            bouts[bouts.count - 1].confidence = step.confidence
        case .ended: break
        }
    }
}

extension StepDetectorSettings {
    /// - Parameters:
    ///   - perG: nil to determine it from samples. Gravity is 1 in g and 9.8 in m/s²: the median magnitude decides.
    fileprivate init(
        perG: Double?, of samples: [SIMD4<Double>], _ placement: SensorPlacement, _ strictness: StepStrictness
    ) {
        let squares = samples.map { $0.y * $0.y + $0.z * $0.z + $0.w * $0.w }.sorted()
        let isMetric = !squares.isEmpty && squares[squares.count / 2] > Self.standardGravity
        self.init(
            perG: perG ?? (isMetric ? Self.standardGravity : 1), placement: placement, strictness: strictness)
    }
}
