import DequeModule
import Messages

/// All subscriptions: a pure value, which whoever has the steps asks what is to be said.
///
/// At most `StepsStartUpdates.maximumNumber` at once. Totals of those that were stopped last are remembered, so that a stop
/// whose answer got lost can be asked for again.
struct StepSubscriptions: Sendable {
    private var byDevice: [String: [StepSubscription]]
    private var stopped: Deque<StepSubscription> = []

    /// Subscriptions that go on after a restart, or none.
    init(_ subscriptions: [StepSubscription] = []) {
        byDevice = Dictionary(grouping: subscriptions, by: \.device)
    }

    /// How many there are.
    var count: Int { byDevice.values.reduce(0) { $0 + $1.count } }

    /// Begins a subscription, which counts from 0; others of the device go on.
    ///
    /// - Parameters:
    ///   - id: new, never used before.
    ///   - startDate: now, on the device's clock where that is known.
    /// - Throws: `invalidParameter` for a device that can't be, or `updateOn` below 1; `tooMany` where no more may be added.
    mutating func start(
        _ request: StepsStartUpdates, id: String, startDate: WallTime
    ) throws(RequestError) -> StepSubscription {
        guard StreamName("\(request.device)/accelerometer") != nil else {
            throw RequestError(
                .invalidParameter,
                "\"\(request.device.prefix(64))\" is no device's name: write it as in topics, without '/'")
        }
        guard request.updateOn > 0 else {
            throw RequestError(
                .invalidParameter, "updateOn is \(request.updateOn): write the number of steps between updates, 1 or more")
        }
        guard count < StepsStartUpdates.maximumNumber else {
            throw RequestError(
                .tooMany,
                "there are \(StepsStartUpdates.maximumNumber) subscriptions: stop one that nobody needs, as events of "
                    + "steps.v1 name it")
        }
        let subscription = StepSubscription(
            id: id, device: request.device, updateOn: request.updateOn, startDate: startDate)
        byDevice[request.device, default: []].append(subscription)
        return subscription
    }

    /// Ends a subscription.
    /// - Returns: it with its total, also where it was stopped not long ago; nil where there is none.
    mutating func stop(_ id: String) -> StepSubscription? {
        for (device, subscriptions) in byDevice {
            guard let index = subscriptions.firstIndex(where: { $0.id == id }) else { continue }
            let subscription = subscriptions[index]
            byDevice[device]?.remove(at: index)
            if byDevice[device]?.isEmpty == true { byDevice[device] = nil }
            if stopped.count == StepsStartUpdates.maximumNumber { stopped.removeFirst() }
            stopped.append(subscription)
            return subscription
        }
        return stopped.first { $0.id == id }
    }

    /// Counts a device's steps that came together, with their dates on its clock, in order.
    /// - Returns: the subscriptions whose total changed, and which of them are to be told: each once, with its total.
    mutating func count(_ steps: some Collection<WallTime>, of device: String) -> Counted {
        var counted = Counted()
        guard var subscriptions = byDevice[device] else { return counted }
        for index in subscriptions.indices {
            let before = subscriptions[index].numberOfSteps
            let isNotified = subscriptions[index].count(steps)
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
        /// Those of them that are to be told.
        var notified: [StepSubscription] = []
    }
}
