package import Messages
package import SampleSources
import TextInput

/// The samples that a program writes to standard input, or a device to a serial port, line by line: bytes in, batches out.
///
/// The fields are known from the first readable line on. An unreadable line is counted and left out. After `tolerance` of them in
/// a row the stream has failed, until a readable line comes. A class, because the reader and the publisher share it.
package final class LiveInput: Sampler {
    /// The input of the lines.
    package enum Origin: Hashable, Sendable {
        case standardInput
        case serial(path: String)

        /// The name in error messages.
        var name: String {
            switch self {
            case .standardInput: "standard input"
            case .serial(let path): path
            }
        }
    }

    /// How many consecutive lines may be unreadable: a program that prints a warning has not failed.
    package static let tolerance = 10

    package let unit: String?
    package let rate: Double?
    package private(set) var fields: [String] = []
    package private(set) var types: [FieldType]?
    package private(set) var failure: PublisherError?
    /// The number of unreadable lines.
    package private(set) var malformedLines = 0
    /// The error of the last unreadable line, with its number.
    package private(set) var lastProblem: PublisherError?

    private let format: LineParser.Format
    private let origin: Origin
    private let isMotion: Bool
    private var layout: DeviceMotionLayout?
    private var lines = LineSplitter()
    private var parser: LineParser
    private var sampler: LiveSampler
    private var row: [Double] = []
    private var isOver = false
    /// Whether the port is disconnected, or has sent nothing since it was reconnected.
    private var isInterrupted = false
    /// Whether the next line may be the rest of a cut one, which would still look like a sample.
    private var mayBeCut = false
    /// When the first and the latest sample since the start or an outage arrived.
    private var arrivals: (first: Int64, last: Int64)?
    /// The number of intervals between samples since the start, and their total length in nanoseconds, without outages.
    private var intervals: (count: Int, length: Int64) = (0, 0)
    /// The rate that was measured before the last stop.
    private var formerRate: Double?
    /// No samples before this time are counted as lost: the stream was stopped, or they are counted already.
    private var lossBegins: Int64 = 0
    private var malformedInARow = 0

    /// - Throws: `invalidParameter` for an impossible batch.
    package init(
        format: LineParser.Format, origin: Origin = .standardInput, batch: Int, unit: String? = nil,
        rate: Double? = nil,
        choice: FieldChoice = FieldChoice()
    ) throws(PublisherError) {
        self.unit = unit
        self.rate = rate
        self.format = format
        self.origin = origin
        isMotion = choice.isMotion
        parser = LineParser(format: format, choice)
        sampler = try LiveSampler(batch: batch)
    }

    /// The input and its format, and the columns that are not published.
    package var description: String {
        let leftOut = types == nil ? [] : parser.leftOut
        let source = origin == .standardInput ? "stdin" : "serial"
        return "\(source):\(format.rawValue)" + (leftOut.isEmpty ? "" : ", without \(leftOut.joined(separator: ", "))")
    }

    package var state: SamplerState { sampler.state }
    package var nextDeadline: Int64? { sampler.nextDeadline }
    package var truth: SignalTruth? { nil }

    /// Begins to take samples; earlier ones are left out.
    ///
    /// - Throws: `alreadyRunning`; `finished` after the end of the input.
    package func start(at now: Int64) throws(PublisherError) {
        if isOver {
            throw PublisherError(.finished, "standard input has ended: restart the program with a new one")
        }
        try sampler.start()
        failure = nil
        malformedInARow = 0
        lossBegins = now
        arrivals = nil
        intervals = (0, 0)
    }

    package func lastSample(at now: Int64) -> Int64? { sampler.lastArrival }

    /// Takes bytes and returns the batches that they complete.
    package func take(_ chunk: Span<UInt8>, at now: Int64, date: WallTime) -> [RowBatch] {
        lines.append(chunk)
        return takeLines(at: now, date: date)
    }

    /// Ends the input and returns the remaining samples.
    package func end(at now: Int64, date: WallTime) -> [RowBatch] {
        isOver = true
        lines.finish()
        let batches = takeLines(at: now, date: date)
        return batches + [sampler.end(at: now)].compactMap(\.self)
    }

    /// Ends the input after a read error and returns the remaining samples. A stream that was not running has not failed.
    package func fail(_ error: PublisherError, at now: Int64, date: WallTime) -> [RowBatch] {
        let wasRunning = state == .running
        let batches = end(at: now, date: date)
        if wasRunning { failure = error }
        return batches
    }

    /// Notes that the port is disconnected, and returns the waiting samples. It may be reconnected.
    package func interrupt(_ error: PublisherError, at now: Int64) -> [RowBatch] {
        isInterrupted = true
        // The rest of the present line will not come.
        lines = LineSplitter()
        if state == .running { failure = error }
        return [sampler.flush(at: now)].compactMap(\.self)
    }

    /// Notes that bytes arrive from a port that was disconnected.
    /// - Returns: the estimated number of samples lost meanwhile, by the rate so far; nil if none can be missing.
    package func resume(at now: Int64) -> Int? {
        guard isInterrupted else { return nil }
        isInterrupted = false
        mayBeCut = !fields.isEmpty
        guard state == .running else { return nil }
        recover()
        arrivals = nil
        guard let last = sampler.lastArrival else { return nil }
        let missed = Nanoseconds.seconds(now - max(last, lossBegins))
        lossBegins = now
        let lost = EstimatedLoss.samples(in: (rate ?? measuredRate ?? formerRate ?? 0) * missed)
        sampler.resume(without: lost)
        return lost
    }

    /// Samples a second since the last start, without outages.
    private var measuredRate: Double? {
        intervals.length > 0 ? Double(intervals.count) / Nanoseconds.seconds(intervals.length) : nil
    }

    /// Notes that this machine slept for `slept` nanoseconds: the device's clock may have continued.
    package func noteSleep(_ slept: Int64) { sampler.noteSleep(slept) }

    package func advance(to now: Int64) -> RowBatch? {
        sampler.advance(to: now)
    }

    package func flush(at now: Int64) -> RowBatch? {
        sampler.flush(at: now)
    }

    package func stop(at now: Int64) -> RowBatch? {
        if state == .running { failure = nil }
        formerRate = measuredRate ?? formerRate
        return sampler.stop(at: now)
    }

    private func takeLines(at now: Int64, date: WallTime) -> [RowBatch] {
        var batches: [RowBatch] = []
        while true {
            row.removeAll(keepingCapacity: true)
            do throws(PublisherError) {
                var line = LineParser.Line.nothing
                let hasLine = try lines.next { (text) throws(PublisherError) in
                    line = try parser.parse(text, into: &row)
                }
                guard hasLine else { return batches }
                let isCut = mayBeCut
                mayBeCut = false
                if hasNewClock(line, at: now, date: date) {
                    if let waiting = sampler.flush(at: now) { batches.append(waiting) }
                    sampler.resume(without: 0)
                }
                guard case .sample(let time) = line, !isCut else { continue }
                if fields.isEmpty { try settleFields() }
                layout?.apply(to: &row, from: 0)
                let record = types == nil ? nil : parser.record
                if state == .running { measure(at: now) }
                if let batch = sampler.take(row, record: record, time: time, at: now) { batches.append(batch) }
                if malformedInARow > 0 { recover() }
            } catch {
                if mayBeCut {
                    mayBeCut = false
                    continue
                }
                let problem = error.at("\(origin.name), line \(lines.lineNumber)")
                malformedLines += 1
                lastProblem = problem
                malformedInARow += 1
                guard malformedInARow >= Self.tolerance, state == .running else { continue }
                if let waiting = sampler.flush(at: now) { batches.append(waiting) }
                failure = PublisherError(
                    .invalidInput, "\(malformedInARow) lines in a row could not be read, most recently \(problem)")
            }
        }
    }

    /// Whether the device restarted before a line, or its clock was set ahead.
    private func hasNewClock(_ line: LineParser.Line, at now: Int64, date: WallTime) -> Bool {
        guard case .sample(let time?) = line else { return line == .header }
        let lead = sampler.lead(of: time, at: now)
        return switch origin {
        case .serial: lead > ClientClock.furthestAhead
        // A file is read faster than its samples were taken, and its pauses are real.
        case .standardInput:
            ClientClock.isPresent(time, date: date) && ClientClock.isOutdated(time, lead: lead, date: date)
        }
    }

    private func measure(at arrival: Int64) {
        guard let (first, last) = arrivals else { return arrivals = (arrival, arrival) }
        // Samples that arrive together with the first one took time before it.
        guard arrival > first else { return }
        intervals.count += 1
        intervals.length += arrival - last
        arrivals = (first, arrival)
    }

    private func recover() {
        malformedInARow = 0
        failure = nil
    }

    private func settleFields() throws(PublisherError) {
        types = parser.types.map { [.number] + $0 }
        // Records have the right shape already.
        if isMotion, types == nil { layout = try DeviceMotionLayout(fields: parser.fields) }
        fields = [FieldOrder.reserved] + (layout?.fields ?? parser.fields)
    }
}
