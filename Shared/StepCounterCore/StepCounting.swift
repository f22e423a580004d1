package import MessageBus
package import Messages
package import ServiceKit

/// Everything that a step-counter knows and decides: the devices that are counted, the subscriptions, and what is not in the
/// history yet.
///
/// It receives events with their time and returns effects. The caller has sockets, the history and a clock: it carries the
/// effects out and reports the results. Confined to one thread. Its work is in extensions: what arrives (`+samples`), what is
/// missing (`+recovery`), what is found (`+findings`), what becomes durable (`+commits`), who subscribes (`+subscriptions`),
/// which publishers and clocks are wrong (`+watch`).
package final class StepCounting: ProgramCore {
    /// Publishers describe their streams each second. One that has not done so for this long is not running or not reachable.
    static let descriptionLife = TimeSpan.seconds(5).nanoseconds
    private static let tickInterval = TimeSpan.seconds(1).nanoseconds

    package let settings: Settings
    let startedAt: Moment
    package var effects: [Effect] = []
    package private(set) var nextDeadline = Int64.min

    // Streams
    /// In the order in which they came.
    package internal(set) var devices: [DeviceCounter] = []
    /// By device: each is counted in one of its streams.
    var counters: [String: DeviceCounter] = [:]
    var topics = TopicTable<DeviceCounter>()
    var descriptions = StreamDescriptions()
    /// Positions of streams that were counted before this start, until the streams are heard.
    var stored: [StreamName: StreamPosition]
    package let held: HeldBytes
    /// Streams that can't be counted.
    package internal(set) var refused: [StreamName: Refusal] = [:]
    /// When a publisher was last heard, on the monotonic clock.
    var heard: Int64

    package internal(set) var subscriptions: StepSubscriptions

    // Durability
    /// What the next commit has, besides positions.
    var pending = StepCommit()
    package internal(set) var pendingSteps = 0
    var historyWork: HistoryWork?
    var phase = Phase.counting
    var commitsBegun = 0
    var commitsEnded = 0
    /// How many commits must begin without waiting for their second.
    var demandedCommits = 0
    /// Which of the detectors the last regular commit had, and whether it is time for the next one.
    var share = 0
    var isShareDue = false
    var removalAt: Int64
    /// What is removed next.
    var removal: Removal?
    /// Subscriptions that are in the history.
    var storedSubscriptions: Set<String>
    /// Whether the last commit failed.
    var isFailing = false
    /// Steps that found no room in memory while the history could not be written.
    package internal(set) var droppedSteps = 0

    // Measures
    package internal(set) var samplesLost = 0
    package internal(set) var stepsCounted = 0
    /// From publication to counting.
    package internal(set) var delays = LatencyHistogram()
    /// Of which stream samples were last lost, and when, on the monotonic clock.
    var lastLoss: (stream: StreamName, instant: Int64)?

    /// A step-counter that continues what the history has.
    package init(
        _ settings: Settings, positions: [StreamName: StreamPosition], subscriptions: [StepSubscription], at now: Moment
    ) {
        self.settings = settings
        startedAt = now
        stored = positions.filter { settings.streams.contains($0.key.stream) }
        held = HeldBytes(limit: settings.holdLimit)
        heard = now.monotonic
        removalAt = now.monotonic + Self.firstExpiry
        self.subscriptions = StepSubscriptions(subscriptions)
        storedSubscriptions = Set(subscriptions.map(\.id))
    }

    package func wake(at now: Moment) {
        nextDeadline = now.monotonic + Self.tickInterval
        tick(at: now)
    }

    /// Does what is due by time. Each second.
    package func tick(at now: Moment) {
        watch(at: now)
        expire(at: now)
        isShareDue = true
        advance(at: now)
    }
}
