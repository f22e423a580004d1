import Messages

/// One stream as it is published: where its samples come from, and what does not change from batch to batch.
///
/// A class, because it is shared by all that the engine does at the same time; only the engine uses it.
final class PublishedStream {
    /// Its place in the list of all streams.
    let index: Int
    let name: StreamName
    let isPacked: Bool
    /// The topic of its batches.
    let topic: [UInt8]
    /// The topic of its descriptions.
    let descriptionTopic: [UInt8]
    let epoch: String
    var sampler: any Sampler
    /// Made at the first batch, when a live stream's fields are known too.
    lazy var encoder = SampleBatchEncoder(
        source: SamplingEngine.source, device: name.device, stream: name.stream, epoch: epoch, fields: sampler.fields,
        isPacked: isPacked)

    /// How often it was started.
    var starts = 0
    /// How many samples were published.
    var nextSequence = 0
    /// How many descriptions were published.
    var descriptions = 0
    /// Whether health reports that it is behind its schedule.
    var isBehind = false
    /// The state that it was last seen in; nil before it is first described.
    var notedState: StreamDescription.State?

    /// Opens the stream's source.
    /// - Throws: `PublisherError` saying what is wrong with the file or the signal.
    init(_ configuration: StreamConfiguration, at index: Int, epoch: String) throws(PublisherError) {
        self.index = index
        name = configuration.name
        isPacked = configuration.isPacked
        topic = Array("\(TopicArea.samples)\(name)".utf8)
        descriptionTopic = Array("\(TopicArea.stream)\(name)".utf8)
        self.epoch = epoch
        sampler = try configuration.makeSampler()
    }

    /// Whether it can be described. A program on standard input says what its fields are with its first line.
    var isKnown: Bool { !sampler.fields.isEmpty }

    /// Where the stream is, in the words of the wire.
    var state: StreamDescription.State {
        if sampler.failure != nil { return .failed }
        switch sampler.state {
        case .idle: return .idle
        case .running: return .running
        case .ended: return .ended
        case .stopped: return .stopped
        }
    }

    /// What the stream is now.
    /// - Parameter retention: seconds for which its samples are kept.
    func description(replay: String, clock: ClockReading, retention: Double?) -> StreamDescription {
        let lastSample = Nanoseconds.from(seconds: clock.uptime).flatMap(sampler.lastSample).map(Nanoseconds.seconds)
        return StreamDescription(
            source: SamplingEngine.source, sequence: descriptions, device: name.device, stream: name.stream,
            epoch: epoch, state: state, fields: sampler.fields, unit: sampler.unit, rate: sampler.rate,
            packed: isPacked, nextSequence: nextSequence, replay: replay, clock: clock,
            description: sampler.description, truth: sampler.truth, reason: sampler.failure?.message,
            lastSample: lastSample, retention: retention)
    }
}
