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
package final class StepCounting: RecoveringCore {
    private static let tickInterval = TimeSpan.seconds(1).nanoseconds

    package let settings: Settings
    let startedAt: Moment
    var clock: HistoryClock
    /// What is committed from this date on, by the history's clock, is of this run.
    let startDate: WallTime
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
    /// When samples of devices were counted before this start, until the devices are heard.
    var storedSpans: [String: [CountedSpan]]
    /// How many events there were of devices that are not counted, and have a subscription.
    var strangers: [String: Int] = [:]
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
    package init(_ settings: Settings, _ history: StoredHistory, at now: Moment) {
        self.settings = settings
        startedAt = now
        clock = HistoryClock(history.clock, keep: settings.keep, at: now)
        startDate = clock.state.date.adding(1)
        let (positions, subscriptions) = (history.positions, history.subscriptions)
        storedSpans = history.spans
        stored = positions.filter { settings.streams.contains($0.key.stream) }
        held = HeldBytes(limit: settings.holdLimit)
        heard = now.monotonic
        removalAt = now.monotonic + Self.firstExpiry
        self.subscriptions = StepSubscriptions(subscriptions)
        storedSubscriptions = Set(subscriptions.map(\.id))
        let change = advanceClock(to: now)
        note(clock.isDoubtful ? .jumped : change, isRunning: false, at: now)
    }

    /// Lets time pass on the history's clock.
    private func advanceClock(to now: Moment) -> HistoryClock.Change? {
        let (ahead, jumpDate) = (clock.state.ahead, clock.jumpDate)
        let change = clock.advance(to: now)
        if change == .followed {
            subscriptions.follow(ahead, since: jumpDate)
            for subscription in subscriptions.all(of: nil) { pending.note(subscription) }
            // They are stored before the clock: by that alone they would end after a kill.
            removalAt = now.monotonic + Self.firstExpiry
        }
        return change
    }

    /// The history's date.
    package func historyDate(at now: Moment) -> WallTime { clock.date(at: now) }

    /// Whether a sample of a device was ever heard of.
    package func isKnown(_ device: String) -> Bool {
        counters[device] != nil || storedSpans[device] != nil || stored.keys.contains { $0.device == device }
    }

    package func wake(at now: Moment) {
        nextDeadline = now.monotonic + Self.tickInterval
        tick(at: now)
    }

    /// Does what is due by time. Each second.
    package func tick(at now: Moment) {
        watch(at: now)
        note(advanceClock(to: now), isRunning: true, at: now)
        expire(at: now)
        isShareDue = true
        advance(at: now)
    }
}
