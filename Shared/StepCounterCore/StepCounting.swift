package import MessageBus
package import Messages
package import ServiceKit

/// The state and decisions of a step-counter: the counted devices, the subscriptions, and what is not in the history yet.
///
/// It receives events with their time and returns effects. The caller has the sockets, the history and a clock: it carries out
/// the effects and reports the results. Confined to one thread. Extensions: input (`+samples`), missing samples (`+recovery`),
/// findings (`+findings`), durability (`+commits`), subscriptions (`+subscriptions`), publishers and clocks (`+watch`).
package final class StepCounting: RecoveringCore {
    private static let tickInterval = TimeSpan.seconds(1).nanoseconds

    package let settings: Settings
    let startedAt: Moment
    var clock: HistoryClock
    /// The first date of this run on the history's clock: commits from this date on are of this run. It goes back with a clock
    /// that was ahead: otherwise the next run would start in the future again.
    private(set) var startDate: WallTime
    package var effects: [Effect] = []
    package private(set) var nextDeadline = Int64.min

    // Streams
    /// In the order of their first descriptions.
    package internal(set) var devices: [DeviceCounter] = []
    /// By device: each is counted in one of its streams.
    var counters: [String: DeviceCounter] = [:]
    var topics = TopicTable<DeviceCounter>()
    var descriptions = StreamDescriptions()
    /// Positions of streams counted before this start, until their devices are heard.
    var stored: [StreamName: StreamPosition]
    /// The spans of devices counted before this start, until the devices are heard.
    var storedSpans: [String: [CountedSpan]]
    /// The number of events of devices that have a subscription but are not counted.
    var strangers: [String: Int] = [:]
    package let held: HeldBytes
    package internal(set) var refused: [StreamName: Refusal] = [:]
    /// When a publisher was last heard, on the monotonic clock in nanoseconds.
    var heard: Int64

    package internal(set) var subscriptions: StepSubscriptions

    // Durability
    /// The content of the next commit, besides positions.
    var pending = StepCommit()
    package internal(set) var pendingSteps = 0
    var historyWork: HistoryWork?
    var phase = Phase.counting
    var commitsBegun = 0
    var commitsEnded = 0
    /// How many commits must begin without waiting for their second.
    var demandedCommits = 0
    /// The share of detectors in the last regular commit, and whether it is time for the next one.
    var share = 0
    var isShareDue = false
    var removalAt: Int64
    var removal: Removal?
    /// Subscriptions stored in the history.
    var storedSubscriptions: Set<String>
    /// Whether the last commit failed.
    var isFailing = false
    /// Steps lost because the history could not be written and memory had no room for them.
    package internal(set) var droppedSteps = 0

    // Measures
    package internal(set) var samplesLost = 0
    package internal(set) var stepsCounted = 0
    /// From publication to counting.
    package internal(set) var delays = LatencyHistogram()
    /// The stream that last lost samples, and when, on the monotonic clock in nanoseconds.
    var lastLoss: (stream: StreamName, instant: Int64)?

    /// A step-counter that continues from the history.
    package init(_ settings: Settings, _ history: StoredHistory, at now: Moment) {
        self.settings = settings
        startedAt = now
        clock = HistoryClock(history.clock, keep: settings.keep, at: now)
        startDate = clock.state.date.adding(1)
        let subscriptions = history.subscriptions
        storedSpans = history.spans
        stored = history.positions
        held = HeldBytes(limit: settings.holdLimit)
        heard = now.monotonic
        removalAt = now.monotonic + Self.firstExpiry
        self.subscriptions = StepSubscriptions(subscriptions)
        storedSubscriptions = Set(subscriptions.map(\.id))
        let change = advanceClock(to: now)
        note(clock.isDoubtful ? .jumped : change, isRunning: false, at: now)
    }

    /// Advances the history's clock.
    private func advanceClock(to now: Moment) -> HistoryClock.Change? {
        let (ahead, jumpDate) = (clock.state.ahead, clock.jumpDate)
        let change = clock.advance(to: now)
        if change == .followed {
            subscriptions.follow(ahead, since: jumpDate)
            for subscription in subscriptions.all(of: nil) { pending.note(subscription) }
            // If a kill comes between the two, no subscription may expire: they are stored before a clock that goes ahead, and
            // after one that goes back.
            removalAt = now.monotonic + (ahead < 0 ? 0 : Self.firstExpiry)
        }
        if !clock.isDoubtful { startDate = min(startDate, clock.state.date) }
        return change
    }

    /// The history's date.
    package func historyDate(at now: Moment) -> WallTime { clock.date(at: now) }

    /// Whether the device has ever been heard, in this run or in the stored history.
    package func isKnown(_ device: String) -> Bool {
        counters[device] != nil || storedSpans[device] != nil || stored.keys.contains { $0.device == device }
    }

    package func wake(at now: Moment) {
        nextDeadline = now.monotonic + Self.tickInterval
        tick(at: now)
    }

    /// Does the periodic work of each second.
    package func tick(at now: Moment) {
        watch(at: now)
        note(advanceClock(to: now), isRunning: true, at: now)
        expire(at: now)
        isShareDue = true
        advance(at: now)
    }
}
