import DequeModule
import Messages

/// All subscriptions: how far each has counted, and which are to be notified.
///
/// At most `StepsStartUpdates.maximumNumber` at once. Totals of those that were last stopped are remembered, so that a stop
/// whose answer was lost can be repeated.
package struct StepSubscriptions: Sendable {
    private var byDevice: [String: [StepSubscription]]
    private var stopped: Deque<StepSubscription> = []

    /// Subscriptions that continue after a restart, or none.
    init(_ subscriptions: [StepSubscription] = []) {
        byDevice = Dictionary(grouping: subscriptions, by: \.device)
    }

    package var count: Int { byDevice.values.reduce(0) { $0 + $1.count } }

    /// Begins a subscription, which counts from 0; others of the device continue.
    ///
    /// - Parameters:
    ///   - id: new, never used before.
    ///   - startDate: now.
    ///   - instant: now, in nanoseconds of the monotonic clock.
    /// - Throws: `invalidParameter` for an impossible device, or `updateOn` below 1; `tooMany` if no more may be added.
    mutating func start(
        _ request: StepsStartUpdates, id: String, startDate: WallTime, instant: Int64
    ) throws(RequestError) -> StepSubscription {
        guard StreamName("\(request.device)/accelerometer") != nil else {
            throw RequestError(
                .invalidParameter,
                "\"\(request.device.prefix(64))\" is not a device's name: write it as in topics, without '/'")
        }
        guard request.updateOn > 0 else {
            throw RequestError(
                .invalidParameter,
                "updateOn is \(request.updateOn): write the number of steps between updates, 1 or more")
        }
        guard count < StepsStartUpdates.maximumNumber else {
            throw RequestError(
                .tooMany,
                "there are \(StepsStartUpdates.maximumNumber) subscriptions: stop one that is not needed, as events of "
                    + "steps.v1 name it")
        }
        let subscription = StepSubscription(
            id: id, device: request.device, updateOn: request.updateOn, startDate: startDate, instant: instant)
        byDevice[request.device, default: []].append(subscription)
        return subscription
    }

    /// Ends a subscription.
    /// - Returns: it with its total, also if it was stopped not long ago; nil if there is none.
    mutating func stop(_ id: String) -> StepSubscription? {
        guard let subscription = remove({ $0.id == id }).first else { return stopped.first { $0.id == id } }
        if stopped.count == StepsStartUpdates.maximumNumber { stopped.removeFirst() }
        stopped.append(subscription)
        return subscription
    }

    /// Ends subscriptions that have not counted a step since a date, as those of programs that have ended.
    mutating func expire(before date: WallTime) -> [StepSubscription] {
        remove { $0.lastDate < date }
    }

    private mutating func remove(_ isRemoved: (StepSubscription) -> Bool) -> [StepSubscription] {
        let removed = byDevice.values.flatMap { $0.filter(isRemoved) }
        for device in Set(removed.map(\.device)) {
            byDevice[device]?.removeAll(where: isRemoved)
            if byDevice[device]?.isEmpty == true { byDevice[device] = nil }
        }
        return removed
    }

    /// Counts a device's steps that came together, with their instants in nanoseconds of the monotonic clock.
    /// - Returns: the subscriptions whose total changed, and which of them are to be notified: each once, with its total.
    mutating func count(_ steps: [Int64], of device: String, at date: WallTime) -> Counted {
        var counted = Counted()
        guard var subscriptions = byDevice[device] else { return counted }
        for index in subscriptions.indices {
            let before = subscriptions[index].numberOfSteps
            let isNotified = subscriptions[index].count(steps, at: date)
            guard subscriptions[index].numberOfSteps > before else { continue }
            counted.changed.append(subscriptions[index])
            if isNotified { counted.notified.append(subscriptions[index]) }
        }
        byDevice[device] = subscriptions
        return counted
    }

    /// What counting did.
    struct Counted: Hashable, Sendable {
        /// Subscriptions with a new total.
        var changed: [StepSubscription] = []
        /// Those of them that are to be notified.
        var notified: [StepSubscription] = []
    }
}
