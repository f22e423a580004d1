import DequeModule
package import MessageBus
package import Messages
import Recording
package import ServiceKit

/// The state and decisions of a relay that sends streams to NATS.
///
/// The relay puts samples in order, appends them to a spool, and publishes them when they are durable there. Each stream has at
/// most one message under way, so its messages stay in sample order however often servers and relays restart. A message is sent
/// again with the same identifier until it is acknowledged; only then does it leave the spool.
///
/// `Sending` receives events with their time and returns effects. Confined to one thread. The extensions cover receiving
/// (`+samples`), the spool (`+spool`), publishing (`+publishing`) and health (`+watch`).
package final class Sending: RecoveringCore {
    /// The maximum number of unacknowledged messages.
    static let maximumUnderWay = 4_096
    static let tickInterval: Int64 = 1_000_000_000
    /// How long a stream waits for the servers' content before it begins with the first sample that its publisher keeps. In
    /// nanoseconds.
    static let patience: Int64 = 5_000_000_000

    package let settings: Settings
    package var effects: [Effect] = []

    // Streams
    package internal(set) var streams: [SentStream] = []
    var byName: [StreamName: SentStream] = [:]
    var topics = TopicTable<SentStream>()
    var descriptions = StreamDescriptions()
    package let held: HeldBytes
    /// When any publisher was last heard, on the monotonic clock.
    var heard: Int64
    var isRefusing = false

    // The spool
    let appender: LogAppender
    /// The events in the appender, in order.
    var collected: [SpooledEvent] = []
    /// The events of the block that is being stored.
    var storing: [SpooledEvent]?
    /// When the collected events are stored, on the monotonic clock.
    var storeAt = Int64.max
    /// Nothing is taken until this time, because the spool could not be written.
    var blockedUntil = Int64.min
    var isFailing = false
    var storedEnd: Int
    /// Positions before `storedEnd` that failed writes used up: nothing is stored there.
    var holes: [Range<Int>]
    /// The end of the spool left by the previous run of the program.
    let leftEnd: Int
    /// The position of the first event that is not in memory; nil if all are.
    var unread: Int?
    var isLoading = false
    /// The position up to which the spool was last trimmed.
    var trimmed: Int
    /// Events in the order of the spool.
    var waiting: Deque<SpooledEvent> = []
    var waitingBytes = 0
    /// The size of acknowledged events that follow an unacknowledged one.
    var finishedBytes = 0

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
    /// The maximum size of a message, in bytes, reduced when servers refuse it. By default servers accept 1 MiB.
    var largestMessage = 256 << 10
    package private(set) var isStopping = false
    var tickAt = Int64.min

    // Measures
    package internal(set) var samplesTaken = 0
    package internal(set) var samplesAcknowledged = 0
    package internal(set) var samplesLost = 0
    package internal(set) var repeats = 0
    package internal(set) var retries = 0
    /// The time from an event's publication to its acknowledgement.
    package internal(set) var delays = LatencyHistogram()

    package init(_ settings: Settings, _ spool: Spool, at now: Moment) {
        self.settings = settings
        heard = now.monotonic
        held = HeldBytes(limit: settings.holdLimit)
        appender = LogAppender(log: spool.log, position: spool.end, segmentLength: settings.segmentLength)
        storedEnd = spool.synced
        holes = spool.holes
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
        endWaits(at: now)
        trim()
        load()
        for stream in streams {
            open(stream, at: now)
            resumeRecovery(of: stream)
        }
    }

    // MARK: Stopping

    /// Stops taking events. Events that were taken are stored, and pending messages may still be acknowledged.
    package func stop(at now: Moment) {
        isStopping = true
        store()
    }

    /// Whether everything taken is durable and no message is pending.
    package var isOver: Bool { isStored && underWay.isEmpty }

    package var isStored: Bool { storing == nil && collected.isEmpty }
}
