import Logging
package import Messages
import ServiceKit

/// Subscriptions to devices' steps.
extension StepCounting {
    private static let stopping = RequestError(
        .stopping, "step-counter is stopping: repeat the request when it is back")

    /// Begins a subscription. It is durable after `commitNow`, unless the history cannot be written.
    /// - Parameter id: a new identifier, never used before.
    package func start(
        _ request: StepsStartUpdates, id: String, at now: Moment
    ) throws(RequestError) -> StepSubscription {
        if isStopping { throw Self.stopping }
        let (subscription, ended) = try subscriptions.start(
            request, id: id, startDate: now.date, instant: now.monotonic, clock: clock.state.date,
            countedFrom: counters[request.device]?.date(at: now))
        if let ended { end(ended, at: now) }
        pending.note(subscription)
        return subscription
    }

    /// The subscriptions, in the order of their starts.
    package func list(_ device: String?) -> [StepsSubscriptions.Subscription] {
        subscriptions.all(of: device).map { subscription in
            StepsSubscriptions.Subscription(
                subscription: subscription.id, device: subscription.device, name: subscription.name,
                updateOn: subscription.updateOn, startDate: subscription.startDate,
                renewedDate: subscription.renewedDate, lifetime: subscription.lifetime.map { Double($0) / 1e9 },
                numberOfSteps: subscription.numberOfSteps, isKnown: isKnown(subscription.device))
        }
    }

    /// Reports a subscription that expired or made room.
    func end(_ subscription: StepSubscription, at now: Moment) {
        noteStop(of: subscription.id)
        emit(
            .log(
                .notice, "a subscription ended because it was not used",
                [
                    "device": "\(subscription.device)", "subscription": "\(subscription.id)",
                    "name": "\(subscription.name ?? "")", "renewed": "\(subscription.renewedDate.utcText)",
                ]))
        publish(.end, of: subscription.device, at: now.date) { event in
            event.subscription = subscription.id
            event.startDate = subscription.startDate
            event.numberOfSteps = subscription.numberOfSteps
        }
        if !subscriptions.has(subscription.device) { strangers[subscription.device] = nil }
    }

    /// Ends a subscription. That is durable after `commitNow`, unless the history cannot be written.
    /// - Returns: the total of its steps; 0 if it is unknown.
    package func stop(_ id: String) throws(RequestError) -> Int {
        if isStopping { throw Self.stopping }
        guard let subscription = subscriptions.stop(id) else { return 0 }
        noteStop(of: id)
        return subscription.numberOfSteps
    }

    func noteStop(of id: String) {
        pending.subscriptions[id] = nil
        // Others need no removal: while the history cannot be written, ended ones must not pile up.
        if storedSubscriptions.contains(id) || historyWork?.commit?.subscriptions[id] != nil {
            pending.stopped.insert(id)
        }
    }
}
