import DequeModule
package import Messages
package import SampleSources
import ServiceKit

/// One stream as it is published: where its samples come from, what does not change from batch to batch, and how far it has come.
///
/// Confined to the thread of its `Publication`.
package final class PublishedStream {
    /// What is to be done when everything is published that was due at a time, before what is due later.
    struct Goal {
        enum Purpose {
            /// Publish what waits, for a `streams.list`.
            case list(request: Int)
            /// Stop, for a `streams.stop`.
            case stop(request: Int)
            /// Describe the stream with the clocks as they were when the machine had slept.
            case describe(ClockReading)
            /// Stop, because the program ends.
            case finish
        }

        let time: Int64
        let purpose: Purpose
    }

    private static let maximumHoles = 1_000

    /// Its place in the list of all streams. Those that clients push may move.
    package internal(set) var index: Int
    /// Where its samples are kept.
    let place: Int
    package let name: StreamName
    package let isPacked: Bool
    let origin: DataOrigin
    /// The topic of its batches.
    package let topic: [UInt8]
    /// The topic of its descriptions.
    package let descriptionTopic: [UInt8]
    package let epoch: String
    /// What the client that pushes it calls the epoch.
    let clientEpoch: String?
    /// Samples that its source is known not to have, and why: the latest ones.
    private var holes: Deque<(range: Range<Int>, reason: Gap.Reason)> = []
    package internal(set) var sampler: any Sampler
    /// Made at the first batch, when a live stream's fields are known too.
    private(set) lazy var encoder = SampleBatchEncoder(
        source: Publication.source, device: name.device, stream: name.stream, epoch: epoch, fields: sampler.fields,
        types: sampler.types, isPacked: isPacked)

    /// The number of its first sample.
    let firstSequence: Int
    /// The number of its epoch's first sample: another stream may have had the first ones, with other fields.
    let epochFirst: Int
    /// The number of the next sample: of an epoch that began with 0, how many were published so far.
    package internal(set) var nextSequence = 0
    /// How many descriptions were published.
    var descriptions = 0
    /// Whether health reports that it is behind its schedule.
    var isBehind = false
    /// The state that it was last seen in; nil before it is first described.
    var notedState: StreamDescription.State?

    /// Whether rows of its source were asked for and did not come yet.
    var isReading = false
    /// The `streams.start` that is under way.
    var starting: Int?
    /// Whether it was started, and its first rows did not come yet.
    var isBeginning = false
    var goals = Deque<Goal>()
    /// When it is looked at next; nil if at no time.
    var scheduled: Int64?
    /// Samples that it published in its present turn.
    var samplesInTurn = 0

    /// - Parameter source: the opened source, of which only the description is read; nil for standard input.
    /// - Throws: `PublisherError` saying what is not possible.
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
    ///   - place: where its samples are kept.
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

    /// Leaves numbers out, because their samples will not come.
    func skip(to number: Int, _ reason: Gap.Reason) {
        guard number > nextSequence else { return }
        if holes.count == Self.maximumHoles { holes.removeFirst() }
        holes.append((nextSequence..<number, reason))
        nextSequence = number
    }

    /// Why none of these samples came; nil if some did, or it is not known.
    func reasonForHole(_ range: Range<Int>) -> Gap.Reason? {
        holes.last { $0.range.lowerBound <= range.lowerBound && range.upperBound <= $0.range.upperBound }?.reason
    }

    /// Whether it can be described. A program on standard input says what its fields are with its first line.
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

    /// How many nanoseconds it is behind its schedule; 0 while it is not.
    package func behind(at now: Int64) -> Int64 { max(0, sampler.nextDeadline.map { now - $0 } ?? 0) }

    func isDue(at now: Int64) -> Bool { sampler.nextDeadline.map { $0 <= now } ?? false }
}

extension StreamConfiguration {
    /// - Parameter source: what `openSource` gave.
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
