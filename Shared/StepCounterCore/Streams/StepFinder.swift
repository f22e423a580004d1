import Messages
import StepDetection

/// Passes the samples of one epoch of a stream to a detector, in order, and adds dates to its findings.
struct StepFinder {
    /// The beginning or end of a bout of walking.
    struct Bout {
        let change: StepEvent.Change
        let date: WallTime
        let start: WallTime
        /// The probability that it was walking, at its end.
        var confidence: Double?
        /// The gait of the bout, at its end; nil if its first steps were found before this program's start.
        var gait: GaitMeasures?
    }

    /// The findings since they were last taken.
    struct Found {
        /// Steps in the order of their times, each with its time on the monotonic clock in nanoseconds.
        var steps: [(step: CountedStep, instant: Int64)] = []
        /// The beginnings and ends of bouts of walking.
        var bouts: [Bout] = []

        var isEmpty: Bool { steps.isEmpty && bouts.isEmpty }
    }

    var found = Found()
    /// Findings in samples before this one are in the history.
    let firstNew: Int
    /// When the present bout of walking began.
    private(set) var boutStart: WallTime?
    /// The probability that it is walking, by its last step.
    private(set) var confidence: Double?
    /// The gait of the present bout.
    private var gait: GaitSummary?
    private(set) var samplesHeard = 0
    private var detector: StepDetector
    private var lastStep: WallTime?
    /// Offsets from uptimes to the device's dates, by the clocks of its batches.
    private var dates = UptimeOffsets()
    private var layout: AccelerationLayout
    /// The names of the columns as written in the last body: compared before anything is decoded.
    private var fieldsToken: [UInt8] = []
    private var events: [(event: WalkingEvent, isNew: Bool)] = []

    /// Begins with a stream's next sample.
    init(_ layout: AccelerationLayout, _ settings: StepDetectorSettings, firstNew: Int = 0) {
        self.layout = layout
        self.firstNew = firstNew
        detector = StepDetector(settings)
    }

    /// Continues from a snapshot; nil if its settings differ, or it is damaged.
    init?(
        _ snapshot: DetectorSnapshot, _ layout: AccelerationLayout, _ settings: StepDetectorSettings, firstNew: Int
    ) {
        guard snapshot.settings == settings, let detector = StepDetector(state: snapshot.state, settings) else {
            return nil
        }
        self.layout = layout
        self.firstNew = firstNew
        self.detector = detector
        boutStart = snapshot.boutStart
        dates = snapshot.dates
    }

    var settings: StepDetectorSettings { detector.settings }

    /// Steps a second while walking, otherwise nil.
    var cadence: Double? { detector.cadence }

    /// The state before a sample.
    func snapshot(before next: Int) -> DetectorSnapshot {
        DetectorSnapshot(
            next: next, state: detector.state, settings: detector.settings, boutStart: boutStart, dates: dates)
    }

    /// Restarts with other settings.
    mutating func restart(_ settings: StepDetectorSettings) {
        endBout()
        detector = StepDetector(settings)
    }

    /// Ends the present bout, of which no more samples will be heard.
    mutating func endBout() {
        if let start = boutStart { found.bouts.append(end(at: lastStep ?? start, start: start)) }
        boutStart = nil
        confidence = nil
        gait = nil
    }

    /// Refuses a batch of the wrong length or without an acceleration, before any of its samples is counted.
    mutating func check(_ batch: ReceivedBatch) throws(MessageError) {
        if !batch.hasFields(fieldsToken) {
            layout = try AccelerationLayout(try batch.fields, try batch.types)
            fieldsToken = batch.fieldsToken
        }
        let columns = layout.columns
        try batch.check { () throws(MessageError) in columns }
    }

    /// Passes samples of a batch that has passed `check` to the detector.
    /// - Parameters:
    ///   - clock: the device's clocks, if the batch does not have them.
    ///   - instants: offsets from uptimes to the monotonic clock.
    ///   - spans: gets the times of counted samples that are not in the history.
    /// - Returns: the unreadable rows, which end the batch, and the error; nil if all rows were readable.
    mutating func hear(
        _ rows: Range<Int>, of batch: ReceivedBatch, clock: ClockReading, instants: UptimeOffsets,
        noting spans: inout CountedSpans
    ) -> (unread: Range<Int>, fault: MessageError)? {
        // Moved out, so that nothing is allocated and the closure may fill it.
        var events = self.events
        self.events = []
        let (first, layout, firstNew) = (batch.body.sequence, layout, firstNew)
        let clock = (try? SampleBody.clock(at: batch.body.clock, in: batch.frame)) ?? clock
        let reading = Int64(nanosecondsIn: clock.uptime)
        let offset = clock.date.nanosecondsSince1970.subtractingClamped(reading)
        var end = rows.lowerBound
        var fault: MessageError?
        // The first and the last uptime of samples without a pause between them.
        var run: (first: Double, last: Double)?
        do {
            try layout.forEach(rows, of: batch) { row, sample in
                if row == rows.lowerBound, sample.isUsable {
                    dates.note(offset, from: Int64(nanosecondsIn: sample.x))
                }
                let isNew = first + row >= firstNew
                if isNew, sample.isUsable {
                    if let known = run, !(0...StepDetector.longestGap).contains(sample.x - known.last) {
                        spans.count(from: known.first, to: known.last, clock: clock)
                        run = nil
                    }
                    run = (run?.first ?? sample.x, sample.x)
                }
                detector.add(time: sample.x, x: sample.y, y: sample.z, z: sample.w) { events.append(($0, isNew)) }
                end = row + 1
            }
        } catch {
            fault = error
        }
        if let run { spans.count(from: run.first, to: run.last, clock: clock) }
        samplesHeard += end - rows.lowerBound
        for (event, isNew) in events { note(event, instants, isNew: isNew) }
        events.removeAll(keepingCapacity: true)
        self.events = events
        return fault.map { (end..<rows.upperBound, $0) }
    }

    private func end(at date: WallTime, start: WallTime) -> Bout {
        var gait = gait
        gait?.endBout()
        return Bout(change: .pause, date: date, start: start, confidence: confidence, gait: gait?.measures)
    }

    private func date(at uptime: Double) -> WallTime {
        WallTime(nanosecondsSince1970: dates.time(at: Int64(nanosecondsIn: uptime)))
    }

    private mutating func note(_ event: WalkingEvent, _ instants: UptimeOffsets, isNew: Bool) {
        switch event {
        case .began(let time):
            let date = date(at: time)
            boutStart = date
            gait = GaitSummary()
            if isNew { found.bouts.append(Bout(change: .resume, date: date, start: date)) }
        case .step(let step):
            let date = date(at: step.time)
            lastStep = date
            confidence = step.confidence
            gait?.add(step: step.time)
            let instant = instants.time(at: Int64(nanosecondsIn: step.time))
            if isNew { found.steps.append((CountedStep(date: date, expected: step.expected), instant)) }
        case .ended(let time):
            let date = date(at: time)
            if isNew { found.bouts.append(end(at: date, start: boutStart ?? date)) }
            boutStart = nil
            confidence = nil
            gait = nil
        }
    }
}

extension SIMD4<Double> {
    /// Whether a detector takes the sample: a sensor that sends values that are not numbers does not count as sampling.
    @inline(__always)
    fileprivate var isUsable: Bool { x.isFinite && (y + z + w).isFinite }
}
