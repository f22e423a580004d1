import Messages

/// What is stored at once: new steps, how far their streams are counted then, and what changed with it.
///
/// Steps and the position of their stream belong into the same commit. Then a kill neither loses nor doubles any: after it the
/// detector goes on from its snapshot with the samples from `snapshot.next` on, and what samples before `next` bring about
/// is passed over, because it is stored.
struct StepCommit: Sendable {
    /// The steps of each device, with their dates; in any order, older than others that are stored too.
    var steps: [String: [WallTime]] = [:]
    /// How far streams are counted.
    var positions: [StreamName: StreamPosition] = [:]
    /// Subscriptions that began or counted.
    var subscriptions: [String: StepSubscription] = [:]
    /// Subscriptions that ended.
    var stopped: Set<String> = []

    /// Whether there is nothing to store.
    var isEmpty: Bool { steps.isEmpty && positions.isEmpty && subscriptions.isEmpty && stopped.isEmpty }

    /// Notes a subscription that began or counted.
    mutating func note(_ subscription: StepSubscription) {
        subscriptions[subscription.id] = subscription
    }

    /// Notes a subscription that ended.
    mutating func noteStop(of id: String) {
        subscriptions[id] = nil
        stopped.insert(id)
    }
}
