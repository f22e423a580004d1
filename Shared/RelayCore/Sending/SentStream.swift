import DequeModule
import MessageBus
package import Messages

/// A stream on its way from publishers to NATS: what of it is in order, and what of it waits to be acknowledged.
///
/// Confined to the thread of its `Sending`.
package final class SentStream {
    /// How far the servers have it.
    enum Remote: Hashable {
        /// They must be asked before anything is sent: what is sent twice after the time in which servers know repeats is stored twice.
        case unknown
        case asking
        /// Up to this sample of an epoch; nil for nothing.
        case known(BatchPlace?)
    }

    /// Descriptions that a program before this one left in the spool: it keeps what was acknowledged for a while, and one that is
    /// sent again would be news.
    enum LeftDescriptions: Hashable {
        case none
        /// The servers must be asked which of them they have.
        case unknown
        /// They have those that were published up to this time; nil for none.
        case known(WallTime?)
    }

    /// So many runs of the publisher are remembered in their order.
    private static let rememberedEpochs = 64

    package var name: StreamName { ordered.name }
    var ordered: OrderedSamples
    var reader = SampleBodyReader()
    /// When it was last described, on the monotonic clock.
    var heard: Int64
    /// When it was first described.
    let began: Int64
    /// Whether it is known which sample is wanted first.
    var isOpen = false
    var isRecovering = false
    var remote = Remote.unknown
    /// Epochs in their order, as far as the spool had them.
    private(set) var epochs: [String] = []
    /// What waits, in order.
    var queue: Deque<SpooledEvent> = []
    /// How many of the first are in the message that is under way, or that is sent again: always the same ones.
    var groupCount = 0
    var isUnderWay = false
    /// Whether servers said that they had the message already, and are asked whether that is so.
    var isInDoubt = false
    /// How often they did not have it: a message is a repeat to them while its identifier is the same.
    var copies = 0
    /// Whether it is in the list of those that may send.
    var isReady = false
    /// When the first event was first sent, on the monotonic clock.
    var firstSentAt: Int64?
    var failures = 0
    /// When the first event is sent again, on the monotonic clock; nil if it is not.
    var retryAt: Int64?
    /// Descriptions that a program before this one left in the spool.
    var leftDescriptions = LeftDescriptions.none
    /// The last description that was sent, and when, on the monotonic clock.
    var described: (description: StreamDescription, at: Int64)?

    init(_ description: StreamDescription, held: HeldBytes, at now: Int64) {
        ordered = OrderedSamples(description, held: held)
        heard = now
        began = now
    }

    /// Begins with a sample of the epoch.
    func start(at sequence: Int) {
        ordered.buffer.start(epoch: ordered.epoch, at: sequence)
        isOpen = true
    }

    func note(epoch: String) {
        guard epochs.last != epoch, !epochs.contains(epoch) else { return }
        if epochs.count == Self.rememberedEpochs { epochs.removeFirst() }
        epochs.append(epoch)
    }

    /// Forgets the message that was sent: its events are stored.
    func endGroup() { (groupCount, firstSentAt, failures, isInDoubt, copies) = (0, nil, 0, false, 0) }

    /// Whether the servers have a batch.
    func hasStored(_ place: BatchPlace) -> Bool {
        guard case .known(let last?) = remote else { return false }
        if place.epoch == last.epoch { return place.end <= last.end }
        guard let one = epochs.firstIndex(of: place.epoch), let other = epochs.firstIndex(of: last.epoch) else {
            return false
        }
        return one < other
    }

    /// What a description says, without what changes by itself.
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

/// An event in the spool, and in memory until it is acknowledged.
final class SpooledEvent {
    let event: RelayedEvent
    unowned let stream: SentStream
    /// Where its block begins in the spool.
    let position: Int
    var isDone = false

    init(_ event: RelayedEvent, of stream: SentStream, at position: Int) {
        self.event = event
        self.stream = stream
        self.position = position
    }
}

extension StreamDescription {
    /// A stream that the spool has, and whose publisher was not heard yet.
    init(unheard name: StreamName, epoch: String) {
        self.init(
            source: "", sequence: 0, device: name.device, stream: name.stream, epoch: epoch, state: .idle, fields: [],
            packed: false, nextSequence: 0, replay: "", clock: ClockReading(uptime: 0, date: WallTime(seconds: 0)))
    }
}
