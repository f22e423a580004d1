import DequeModule
package import MessageBus
package import Messages
import Recording
package import ServiceKit

/// Everything that a relay knows and decides which carries streams to NATS.
///
/// Samples are put in order, appended to a spool, and published once they are durable there: one message of a stream is under way at
/// a time, so that a stream's messages are in the order of its samples, however often servers and relays end. A message is sent again,
/// with the same identifier, until it is acknowledged, and only then leaves the spool.
///
/// It receives events with their time and returns effects. Confined to one thread. Its work is in extensions: what arrives
/// (`+samples`), the spool (`+spool`), what is published (`+publishing`), what is watched (`+watch`).
package final class Sending: RecoveringCore {
    /// Messages without an acknowledgement.
    static let maximumUnderWay = 4_096
    static let tickInterval: Int64 = 1_000_000_000
    /// How long a stream waits for what the servers have of it before it begins with what its publisher keeps.
    static let patience: Int64 = 5_000_000_000

    package let settings: Settings
    package var effects: [Effect] = []

    // Streams
    package internal(set) var streams: [SentStream] = []
    var byName: [StreamName: SentStream] = [:]
    var topics = TopicTable<SentStream>()
    var descriptions = StreamDescriptions()
    package let held: HeldBytes
    /// When a publisher was last heard, on the monotonic clock.
    var heard: Int64
    var isRefusing = false

    // The spool
    let appender: LogAppender
    /// What is in the appender, in order.
    var collected: [SpooledEvent] = []
    /// What is being made durable.
    var storing: [SpooledEvent]?
    /// When what was collected is to be stored, on the monotonic clock.
    var storeAt = Int64.max
    /// Until when nothing is taken, because the spool could not be written.
    var blockedUntil = Int64.min
    /// Whether the last block could not be written.
    var isFailing = false
    /// The position before which everything is durable.
    var storedEnd: Int
    /// Behind what a program before this one left.
    let leftEnd: Int
    /// The position from which on events are not in memory; nil if all are.
    var unread: Int?
    var isLoading = false
    /// Before which position everything was acknowledged when that was last said.
    var trimmed: Int
    /// In the order of the spool.
    var waiting: Deque<SpooledEvent> = []
    var waitingBytes = 0

    // Servers
    package internal(set) var isConnected = false
    package internal(set) var servers: Servers?
    var isPreparing = false
    var prepareAt = Int64.min
    var problem: String?
    var underWay: [String: SentStream] = [:]
    var ready: Deque<SentStream> = []
    var retrying: [SentStream] = []
    var fullSince: Int64?
    var isStopping = false
    var tickAt = Int64.min

    // Measures
    package internal(set) var samplesTaken = 0
    package internal(set) var samplesAcknowledged = 0
    package internal(set) var samplesLost = 0
    package internal(set) var repeats = 0
    package internal(set) var retries = 0
    /// From an event's publication until it is acknowledged.
    package internal(set) var delays = LatencyHistogram()

    package init(_ settings: Settings, _ spool: Spool, at now: Moment) {
        self.settings = settings
        heard = now.monotonic
        held = HeldBytes(limit: settings.holdLimit)
        appender = LogAppender(log: spool.log, position: spool.end, segmentLength: settings.segmentLength)
        storedEnd = spool.synced
        trimmed = spool.start
        leftEnd = spool.end
        unread = spool.start < spool.synced ? spool.start : nil
        for (name, known) in spool.streams.sorted(by: { $0.key.description < $1.key.description }) {
            let stream = SentStream(StreamDescription(unheard: name, epoch: known.last.epoch), held: held, at: .min)
            stream.start(at: known.last.end)
            for epoch in known.epochs { stream.note(epoch: epoch) }
            stream.leftDescriptions = .unknown
            add(stream)
        }
        load()
    }

    package var nextDeadline: Int64 {
        var deadline = min(tickAt, storing == nil ? storeAt : .max)
        for stream in retrying { deadline = min(deadline, stream.retryAt ?? .max) }
        if isConnected, servers == nil, !isPreparing { deadline = min(deadline, prepareAt) }
        return deadline
    }

    package func wake(at now: Moment) {
        if now.monotonic >= tickAt {
            tickAt = now.monotonic + Self.tickInterval
            tick(at: now)
        }
        if now.monotonic >= storeAt { store() }
        prepare(at: now)
        retry(at: now)
        pump(at: now)
    }

    private func tick(at now: Moment) {
        watch(at: now)
        trim()
        load()
        for stream in streams {
            open(stream, at: now)
            resumeRecovery(of: stream)
        }
    }

    // MARK: Stopping

    /// Takes nothing more. What was taken is stored, and what is under way may be acknowledged.
    package func stop(at now: Moment) {
        isStopping = true
        store()
    }

    /// Whether everything that was taken is durable, and nothing is under way.
    package var isOver: Bool { isStored && underWay.isEmpty }

    package var isStored: Bool { storing == nil && collected.isEmpty }
}
