package import Messages

/// What is stored at once: new steps, how far their streams are counted then, and what changed with it.
///
/// Steps and the position of their stream belong into the same commit. Then a kill neither loses nor doubles any: after it the
/// detector continues from its snapshot with the samples from `snapshot.next` on, and what samples before `next` bring about
/// is passed over, because it is stored.
package struct StepCommit: Sendable {
    /// The steps of each device, in any order, older than others that are stored too.
    package var steps: [String: [CountedStep]] = [:]
    package var positions: [StreamName: StreamPosition] = [:]
    /// When samples of each device were counted, as far as that changed; as far as the positions.
    package var spans: [String: [CountedSpan]] = [:]
    /// Streams whose devices are counted in another stream from now on: their positions are removed.
    package var abandoned: Set<StreamName> = []
    /// Subscriptions that began or counted.
    package var subscriptions: [String: StepSubscription] = [:]
    /// Subscriptions that ended.
    package var stopped: Set<String> = []

    /// - Parameter steps: the dates of steps of which no more is known.
    package init(steps: [String: [WallTime]] = [:], positions: [StreamName: StreamPosition] = [:]) {
        self.steps = steps.mapValues { $0.map { CountedStep(date: $0) } }
        self.positions = positions
    }

    package var isEmpty: Bool {
        steps.isEmpty && positions.isEmpty && spans.isEmpty && abandoned.isEmpty && subscriptions.isEmpty
            && stopped.isEmpty
    }

    /// Notes a subscription that began or counted.
    package mutating func note(_ subscription: StepSubscription) {
        subscriptions[subscription.id] = subscription
    }
}
