import DequeModule
package import Messages
package import SampleSources
import ServiceKit

/// One stream as it is published: its sampler, what does not change from batch to batch, and its progress.
///
/// Confined to the thread of its `Publication`.
package final class PublishedStream {
    /// An action to be done when all samples due at a time are published, before those due later.
    struct Goal {
        enum Purpose {
            /// Publish the samples that wait, for a `streams.list`.
            case list(request: Int)
            /// Stop, for a `streams.stop`.
            case stop(request: Int)
            /// Describe the stream with this reading of the clocks, taken after a sleep of the machine.
            case describe(ClockReading)
            /// Stop, because the program ends.
            case finish
        }

        let time: Int64
        let purpose: Purpose
    }

    private static let maximumHoles = 1_000
    /// The most bytes of a message. Subscribers accept 32 MiB. Names count for each sample, as in a recorder's files: a
    /// recorder accepts 256 MiB of them in one message.
    private static let longestMessage = 16 << 20
    /// The most bytes of a number with a comma, and of a comma and a colon for its name.
    private static let longestNumber = 25 + 2

    /// Its place in the list of all streams. That of a pushed stream may change.
    package internal(set) var index: Int
    /// Its place in the retention buffer.
    let place: Int
    package let name: StreamName
    package let isPacked: Bool
    let origin: DataOrigin
    package let topic: [UInt8]
    package let descriptionTopic: [UInt8]
    package let epoch: String
    /// The epoch's name as given by the client that pushes the stream.
    let clientEpoch: String?
    /// The latest ranges of samples that are known to be missing from the source, and why.
    private var holes: Deque<(range: Range<Int>, reason: Gap.Reason)> = []
    package internal(set) var sampler: any Sampler
    /// Made at the first batch, when a live stream's fields are known too.
    private(set) lazy var encoder = SampleBatchEncoder(
        source: Publication.source, device: name.device, stream: name.stream, epoch: epoch, fields: sampler.fields,
        types: sampler.types, isPacked: isPacked)

    /// The most samples in a message. Known when the fields are.
    private(set) lazy var largestBatch = Self.largestBatch(of: sampler.fields)

    let firstSequence: Int
    /// The number of its epoch's first sample: an earlier run, with other fields, may have published the first ones.
    let epochFirst: Int
    /// The number of the next sample. If the epoch began with 0, also the number of samples published or skipped so far.
    package internal(set) var nextSequence = 0
    /// The number of descriptions published.
    var descriptions = 0
    /// Whether health reports that it is behind its schedule.
    var isBehind = false
    /// The state at the last check; nil before it is first described.
    var notedState: StreamDescription.State?

    /// Whether rows were requested from its source and have not arrived.
    var isReading = false
    /// The request number of the `streams.start` under way.
    var starting: Int?
    /// Whether it was started and its first rows have not arrived.
    var isBeginning = false
    var goals = Deque<Goal>()
    /// When it is served next; nil if it is not scheduled.
    var scheduled: Int64?
    /// Samples published in its present turn.
    var samplesInTurn = 0

    /// - Parameter source: the opened source; only its description is read. nil for standard input, a serial port, IIO or LSL.
    /// - Throws: `invalidParameter` for an impossible batch size or speed, or a stream without a source.
    package init(
        _ configuration: StreamConfiguration, source: (any SampleSource)?, at index: Int, epoch: String
    ) throws(PublisherError) {
        self.index = index
        place = index
        clientEpoch = nil
        (firstSequence, epochFirst) = (0, 0)
        name = configuration.name
        isPacked = configuration.isPacked
        origin = configuration.origin
        topic = Array("\(TopicArea.samples)\(name)".utf8)
        descriptionTopic = Array("\(TopicArea.stream)\(name)".utf8)
        self.epoch = epoch
        sampler = try configuration.makeSampler(of: source)
    }

    /// A stream that a client pushes.
    /// - Parameters:
    ///   - place: the stream's place in the retention buffer.
    ///   - next: the number of its first sample.
    ///   - epochFirst: the number of its epoch's first sample.
    init(
        _ name: StreamName, _ input: PushedInput, at index: Int, place: Int, epoch: String, clientEpoch: String?,
        next: Int, epochFirst: Int
    ) {
        self.index = index
        self.place = place
        self.name = name
        self.clientEpoch = clientEpoch
        isPacked = false
        origin = .measured
        topic = Array("\(TopicArea.samples)\(name)".utf8)
        descriptionTopic = Array("\(TopicArea.stream)\(name)".utf8)
        self.epoch = epoch
        sampler = input
        firstSequence = next
        self.epochFirst = epochFirst
        nextSequence = next
    }

    private static func largestBatch(of fields: [String]) -> Int {
        var names = ByteBuffer(capacity: 512)
        for field in fields { names.append(jsonString: field) }
        return max(1, longestMessage / (names.count + fields.count * longestNumber))
    }

    /// Appends the body of a batch.
    package func encode(_ batch: RowBatch, clock: ClockReading, into body: inout ByteBuffer) {
        let sequence = Int(batch.firstSequence)
        batch.rows.withUnsafeBufferPointer { rows in
            if let records = batch.records {
                encoder.encode(sequence: sequence, clock: clock, uptimes: rows, values: records.all, into: &body)
            } else {
                encoder.encode(sequence: sequence, count: batch.count, clock: clock, rows: rows, into: &body)
            }
        }
    }

    /// Appends the matrix of a batch, for a packed stream.
    package func encodePacked(_ batch: RowBatch, into matrix: inout ByteBuffer) {
        batch.rows.withUnsafeBufferPointer { encoder.encodePacked($0, into: &matrix) }
    }

    /// Skips sequence numbers whose samples will not come.
    func skip(to number: Int, _ reason: Gap.Reason) {
        guard number > nextSequence else { return }
        if holes.count == Self.maximumHoles { holes.removeFirst() }
        holes.append((nextSequence..<number, reason))
        nextSequence = number
    }

    /// Why all of these samples are missing; nil if some are not, or if it is not known.
    func reasonForHole(_ range: Range<Int>) -> Gap.Reason? {
        holes.last { $0.range.lowerBound <= range.lowerBound && range.upperBound <= $0.range.upperBound }?.reason
    }

    /// Whether it can be described. Live input has no fields before its first line or its device's description.
    var isKnown: Bool { !sampler.fields.isEmpty }

    package var state: StreamDescription.State {
        if sampler.failure != nil { return .failed }
        switch sampler.state {
        case .idle: return .idle
        case .running: return .running
        case .ended: return .ended
        case .stopped: return .stopped
        }
    }

    /// How many nanoseconds it is behind its schedule; 0 if it is not.
    package func behind(at now: Int64) -> Int64 { max(0, sampler.nextDeadline.map { now - $0 } ?? 0) }

    func isDue(at now: Int64) -> Bool { sampler.nextDeadline.map { $0 <= now } ?? false }
}

extension StreamConfiguration {
    /// - Parameter source: the result of `openSource`.
    package func makeSampler(of source: (any SampleSource)?) throws(PublisherError) -> any Sampler {
        if let source {
            return try StreamSampler(of: source, batch: batchSize(rate: source.rate), speed: speed)
        }
        let (format, origin): (LineParser.Format, LiveInput.Origin)
        switch self.source {
        case .iio, .lsl:
            let configuration = self
            return try TimedInput(unit: unit, tolerance: self.source.tolerance) { configuration.batchSize(rate: $0) }
        case .stdin(let given): (format, origin) = (given, .standardInput)
        case .serial(let serial): (format, origin) = (serial.format, .serial(path: serial.path))
        case .signal, .points, .replay:
            throw PublisherError(.invalidParameter, "\(name) has no source of samples")
        }
        return try LiveInput(
            format: format, origin: origin, batch: batchSize(rate: rate), unit: unit, rate: rate, choice: choice)
    }
}
