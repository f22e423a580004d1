package import Messages

/// Changes stored together: new steps, the positions of their streams, and what belongs to them.
///
/// Steps and the position of their stream belong in the same commit, so that a kill neither loses nor duplicates steps: after a
/// kill the detector continues from its snapshot with the samples from `snapshot.next` on, and steps found in samples before
/// `next` are dropped, because they are stored.
package struct StepCommit: Sendable {
    /// The steps of each device, in any order; they may be older than steps already stored.
    package var steps: [String: [CountedStep]] = [:]
    package var positions: [StreamName: StreamPosition] = [:]
    /// The changed spans in which samples of each device were counted, up to the positions.
    package var spans: [String: [CountedSpan]] = [:]
    /// Streams whose devices are counted in another stream from now on: their positions are removed.
    package var abandoned: Set<StreamName> = []
    /// Subscriptions that began or counted.
    package var subscriptions: [String: StepSubscription] = [:]
    /// Subscriptions that ended.
    package var stopped: Set<String> = []

    /// - Parameter steps: the dates of steps without further figures.
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
