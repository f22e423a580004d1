import DequeModule
import MessageBus
package import Messages

/// A stream on its way from publishers to NATS: its ordering state and its events that wait to be acknowledged.
///
/// Confined to the thread of its `Sending`.
package final class SentStream {
    /// What is known about the servers' copy of the stream.
    enum Remote: Hashable {
        /// The servers must be asked before anything is sent: a message repeated after their duplicate window is stored twice.
        case unknown
        case asking
        /// The servers have everything up to this batch; nil for nothing.
        case known(BatchPlace?)
    }

    /// Descriptions in the spool from a previous run of the program. The spool keeps acknowledged events for a while, and a
    /// repeated description would count as new.
    enum LeftDescriptions: Hashable {
        case none
        /// The servers must be asked which descriptions they have.
        case unknown
        /// The servers have the descriptions published up to this time; nil for none.
        case known(WallTime?)
    }

    /// The maximum number of publisher runs whose order is remembered.
    private static let rememberedEpochs = 64

    package var name: StreamName { ordered.name }
    var ordered: OrderedSamples
    var reader = SampleBodyReader()
    var heard: Hearing
    /// When the stream was first described, on the monotonic clock.
    let began: Int64
    /// Whether the first wanted sample is known.
    var isOpen = false
    var isRecovering = false
    var remote = Remote.unknown
    /// Epochs in the order of the spool.
    private(set) var epochs: [String] = []
    /// The waiting events, in order.
    var queue: Deque<SpooledEvent> = []
    /// The number of events in the pending message. A repeated message contains the same events.
    var groupCount = 0
    var isUnderWay = false
    /// When the library took the pending message, on the monotonic clock; nil before.
    var sentAt: Int64?
    /// Whether servers reported the message as a duplicate and are asked whether they really have it.
    var isInDoubt = false
    /// How often such a report was wrong. It is part of the identifier, since servers would take the same identifier for a
    /// duplicate again.
    var copies = 0
    /// Whether the stream is in the list of streams that may send.
    var isReady = false
    /// When the first waiting event was first sent, on the monotonic clock.
    var firstSentAt: Int64?
    var failures = 0
    /// When the first event is sent again, on the monotonic clock; nil if no retry is due.
    var retryAt: Int64?
    /// Descriptions in the spool from a previous run of the program.
    var leftDescriptions = LeftDescriptions.none
    /// The last description that was sent, and when, on the monotonic clock.
    var described: (description: StreamDescription, at: Int64)?

    init(_ description: StreamDescription, held: HeldBytes, at now: Int64) {
        ordered = OrderedSamples(description, held: held)
        heard = Hearing(at: now)
        began = now
    }

    /// Begins with a sample of the current epoch.
    func start(at sequence: Int) {
        ordered.buffer.start(epoch: ordered.epoch, at: sequence)
        isOpen = true
    }

    func note(epoch: String) {
        guard epochs.last != epoch, !epochs.contains(epoch) else { return }
        if epochs.count == Self.rememberedEpochs { epochs.removeFirst() }
        epochs.append(epoch)
    }

    /// Resets the state of a message whose events are stored.
    func endGroup() { (groupCount, firstSentAt, failures, isInDoubt, copies) = (0, nil, 0, false, 0) }

    /// Whether the servers have a batch.
    func hasStored(_ place: BatchPlace) -> Bool {
        guard case .known(let last?) = remote else { return false }
        if place.epoch == last.epoch { return place.end <= last.end }
        guard let other = epochs.firstIndex(of: last.epoch) else { return false }
        // An epoch is forgotten only if the list is full, and is then older than all that are remembered. Behind damage in the
        // spool there may be epochs that were never noted.
        return epochs.firstIndex(of: place.epoch).map { $0 < other } ?? (epochs.count == Self.rememberedEpochs)
    }

    /// A description without the fields that change constantly.
    static func essence(of description: StreamDescription) -> StreamDescription {
        var essence = description
        essence.sequence = 0
        essence.nextSequence = 0
        essence.clock = ClockReading(uptime: 0, date: WallTime(seconds: 0))
        essence.lastSample = nil
        essence.retention = nil
        essence.truth = nil
        essence.remoteClock = nil
        return essence
    }
}

/// An event in the spool, kept in memory until it is acknowledged.
final class SpooledEvent {
    let event: RelayedEvent
    unowned let stream: SentStream
    /// The position of the event's block in the spool.
    let position: Int
    var isDone = false

    init(_ event: RelayedEvent, of stream: SentStream, at position: Int) {
        self.event = event
        self.stream = stream
        self.position = position
    }

    /// Splits the event into smaller ones of the same block if it exceeds `limit` bytes. Returns only the event if it cannot be
    /// cut.
    func pieces(of limit: Int) -> [SpooledEvent] {
        let pieces = event.pieces(of: limit)
        return pieces.count > 1 ? pieces.map { SpooledEvent($0, of: stream, at: position) } : [self]
    }
}

extension StreamDescription {
    /// A placeholder for a stream in the spool whose publisher has not been heard yet.
    init(unheard name: StreamName, epoch: String) {
        self.init(
            source: "", sequence: 0, device: name.device, stream: name.stream, epoch: epoch, state: .idle, fields: [],
            packed: false, nextSequence: 0, replay: "", clock: ClockReading(uptime: 0, date: WallTime(seconds: 0)))
    }
}
