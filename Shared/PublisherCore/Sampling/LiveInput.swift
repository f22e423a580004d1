package import Messages
package import SampleSources
import TextInput

/// The samples that a program writes to our standard input, or a device to a serial port, line by line: bytes in, batches out.
///
/// What the fields are is known from the first good line on. A line that can't be read is counted and left out; after
/// `tolerance` of them in a row the stream has failed, until a good line comes. A class, because whoever reads the bytes and
/// whoever publishes the stream mean the same one.
package final class LiveInput: Sampler {
    /// Where the lines come from.
    package enum Origin: Hashable, Sendable {
        case standardInput
        case serial(path: String)

        /// For people.
        var name: String {
            switch self {
            case .standardInput: "standard input"
            case .serial(let path): path
            }
        }
    }

    /// How many lines in a row may be unreadable: a sensor's program that prints a warning has not failed.
    package static let tolerance = 10

    package let unit: String?
    package let rate: Double?
    package private(set) var fields: [String] = []
    package private(set) var types: [FieldType]?
    package private(set) var failure: PublisherError?
    /// The number of lines that could not be read.
    package private(set) var malformedLines = 0
    /// The last line that could not be read, by its number, and why.
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
    /// Whether the port is away, or nothing came since it is back.
    private var isInterrupted = false
    /// Whether the next line may be the rest of one, which would still look like a sample.
    private var mayBeCut = false
    private var firstArrival: Int64?
    private var samplesTaken = 0
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

    /// What it is, and what of it is not published.
    package var description: String {
        let leftOut = types == nil ? [] : parser.leftOut
        let source = origin == .standardInput ? "stdin" : "serial"
        return "\(source):\(format.rawValue)" + (leftOut.isEmpty ? "" : ", without \(leftOut.joined(separator: ", "))")
    }

    package var state: SamplerState { sampler.state }
    package var nextDeadline: Int64? { sampler.nextDeadline }
    package var truth: SignalTruth? { nil }

    /// Begins to take samples; those that came before are left out.
    ///
    /// - Throws: `alreadyRunning`, and `finished` after the end of the input.
    package func start(at now: Int64) throws(PublisherError) {
        if isOver {
            throw PublisherError(.finished, "standard input has ended: restart the program with a new one")
        }
        try sampler.start()
        failure = nil
        malformedInARow = 0
    }

    package func lastSample(at now: Int64) -> Int64? { sampler.lastArrival }

    /// Takes bytes, and gives the batches that they complete.
    package func take(_ chunk: Span<UInt8>, at now: Int64) -> [RowBatch] {
        lines.append(chunk)
        return takeLines(at: now)
    }

    /// Says that nothing more comes, and gives what is left.
    package func end(at now: Int64) -> [RowBatch] {
        isOver = true
        lines.finish()
        let batches = takeLines(at: now)
        return batches + [sampler.end(at: now)].compactMap(\.self)
    }

    /// Says that nothing more can be read, and gives what is left. A stream that was not running has lost nothing.
    package func fail(_ error: PublisherError, at now: Int64) -> [RowBatch] {
        let wasRunning = state == .running
        let batches = end(at: now)
        if wasRunning { failure = error }
        return batches
    }

    /// Says that the port is away, and gives what is left. It may come back.
    package func interrupt(_ error: PublisherError, at now: Int64) -> [RowBatch] {
        isInterrupted = true
        // The line under way will not end.
        lines = LineSplitter()
        if state == .running { failure = error }
        return [sampler.flush(at: now)].compactMap(\.self)
    }

    /// Says that something comes from a port that was away.
    /// - Returns: about how many samples were lost meanwhile, by the rate so far; nil if it was not away.
    package func resume(at now: Int64) -> Int? {
        guard isInterrupted else { return nil }
        isInterrupted = false
        mayBeCut = !fields.isEmpty
        guard state == .running else { return nil }
        recover()
        guard let last = sampler.lastArrival else { return nil }
        var measured: Double?
        if let firstArrival, last > firstArrival {
            measured = Double(samplesTaken - 1) / Nanoseconds.seconds(last - firstArrival)
        }
        let lost = EstimatedLoss.samples(in: (rate ?? measured ?? 0) * Nanoseconds.seconds(now - last))
        sampler.resume(without: lost)
        return lost
    }

    /// Notes that this machine slept, for so many nanoseconds: the clock of what measures may not have.
    package func noteSleep(_ slept: Int64) { sampler.noteSleep(slept) }

    package func advance(to now: Int64) -> RowBatch? {
        sampler.advance(to: now)
    }

    package func flush(at now: Int64) -> RowBatch? {
        sampler.flush(at: now)
    }

    package func stop(at now: Int64) -> RowBatch? {
        if state == .running { failure = nil }
        return sampler.stop(at: now)
    }

    private func takeLines(at now: Int64) -> [RowBatch] {
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
                if line == .header {
                    if let waiting = sampler.flush(at: now) { batches.append(waiting) }
                    sampler.resume(without: 0)
                }
                guard case .sample(let time) = line, !isCut else { continue }
                if fields.isEmpty { try settleFields() }
                layout?.apply(to: &row, from: 0)
                let record = types == nil ? nil : parser.record
                if state == .running {
                    if firstArrival == nil { firstArrival = now }
                    samplesTaken += 1
                }
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
                    .invalidInput, "\(malformedInARow) lines in a row could not be read, lately \(problem)")
            }
        }
    }

    private func recover() {
        malformedInARow = 0
        failure = nil
    }

    private func settleFields() throws(PublisherError) {
        types = parser.types.map { [.number] + $0 }
        // Records have the shape already.
        if isMotion, types == nil { layout = try DeviceMotionLayout(fields: parser.fields) }
        fields = [FieldOrder.reserved] + (layout?.fields ?? parser.fields)
    }
}
