import Messages
import StepCounterCore

/// A step history in memory, with atomic commits.
struct HistoryModel {
    /// In any order.
    private(set) var steps: [String: [WallTime]] = [:]
    private(set) var positions: [StreamName: (position: StreamPosition, committed: WallTime)] = [:]
    private(set) var subscriptions: [String: StepSubscription] = [:]
    /// By device and number.
    private(set) var spans: [String: [Int: CountedSpan]] = [:]
    private var storedClock: HistoryClock.State?

    var clock: HistoryClock.State? {
        let committed = positions.values.map(\.committed).max()
        guard var clock = storedClock else { return committed.map { HistoryClock.State(date: $0) } }
        clock.date = max(clock.date, committed ?? clock.date)
        return clock
    }

    init(subscriptions: [StepSubscription] = []) {
        for subscription in subscriptions { self.subscriptions[subscription.id] = subscription }
    }

    mutating func commit(_ commit: StepCommit, at now: WallTime) {
        for (device, counted) in commit.steps { steps[device, default: []] += counted.map(\.date) }
        for name in commit.abandoned { positions[name] = nil }
        for (name, new) in commit.positions {
            var position = new
            if position.snapshot == nil, let stored = positions[name]?.position, stored.epoch == position.epoch {
                position.snapshot = stored.snapshot
            }
            positions[name] = (position, now)
        }
        for (device, changed) in commit.spans {
            for span in changed { spans[device, default: [:]][span.number] = span }
        }
        for (id, subscription) in commit.subscriptions { subscriptions[id] = subscription }
        for id in commit.stopped { subscriptions[id] = nil }
    }

    mutating func remove(_ removal: StepCounting.Removal) {
        for device in Array(steps.keys) { steps[device]?.removeAll { $0 < removal.steps } }
        positions = positions.filter { $0.value.committed >= removal.positions }
        if removal.clock.ahead == 0 {
            positions = positions.mapValues {
                (position: $0.position, committed: min($0.committed, removal.clock.date))
            }
        }
        spans = spans.mapValues { $0.filter { $0.value.end >= removal.steps } }.filter { !$0.value.isEmpty }
        storedClock = removal.clock
    }

    /// The spans of each device in the order of their numbers.
    var lastSpans: [String: [CountedSpan]] {
        spans.mapValues { Array($0.values.sorted { $0.number < $1.number }.suffix(StoredHistory.maximumSpans)) }
    }

    /// A step counter that continues the history, as after a restart.
    func start(_ settings: StepCounting.Settings, at now: Moment) -> StepCounting {
        let continued = subscriptions.values.sorted { $0.id < $1.id }.map { subscription in
            StepSubscription(
                id: subscription.id, device: subscription.device, name: subscription.name,
                updateOn: subscription.updateOn, startDate: subscription.startDate,
                countedFrom: subscription.countedFrom, renewedDate: subscription.renewedDate,
                lifetime: subscription.lifetime, numberOfSteps: subscription.numberOfSteps,
                lastDate: subscription.lastDate)
        }
        return StepCounting(
            settings,
            StoredHistory(
                positions: positions.mapValues(\.position), spans: lastSpans, subscriptions: continued, clock: clock),
            at: now)
    }
}
