package import Messages
import ServiceKit

/// Who subscribes to a device's steps.
extension StepCounting {
    private static let stopping = RequestError(
        .stopping, "step-counter is stopping: repeat the request when it is back")

    /// Begins a subscription. It is durable after `commitNow`, unless the history can't be written.
    /// - Parameter id: new, never used before.
    package func start(
        _ request: StepsStartUpdates, id: String, at now: Moment
    ) throws(RequestError) -> StepSubscription {
        if isStopping { throw Self.stopping }
        let subscription = try subscriptions.start(request, id: id, startDate: now.date, instant: now.monotonic)
        pending.note(subscription)
        return subscription
    }

    /// Ends a subscription, as `start` begins one.
    /// - Returns: all of its steps.
    package func stop(_ id: String) throws(RequestError) -> Int {
        if isStopping { throw Self.stopping }
        guard let subscription = subscriptions.stop(id) else { return 0 }
        noteStop(of: id)
        return subscription.numberOfSteps
    }

    func noteStop(of id: String) {
        pending.subscriptions[id] = nil
        // Others need no removal: while the history can't be written, those that end must not pile up.
        if storedSubscriptions.contains(id) || historyWork?.commit?.subscriptions[id] != nil {
            pending.stopped.insert(id)
        }
    }
}
