package import Messages

/// What the history has when a step-counter starts, and continues with.
package struct StoredHistory: Sendable {
    package var positions: [StreamName: StreamPosition]
    /// The last ones of each device, in the order of their numbers.
    package var spans: [String: [CountedSpan]]
    package var subscriptions: [StepSubscription]
    /// Nil if none was stored.
    package var clock: HistoryClock.State?

    package init(
        positions: [StreamName: StreamPosition] = [:], spans: [String: [CountedSpan]] = [:],
        subscriptions: [StepSubscription] = [], clock: HistoryClock.State? = nil
    ) {
        self.positions = positions
        self.spans = spans
        self.subscriptions = subscriptions
        self.clock = clock
    }

    /// How many spans of a device are read.
    package static let maximumSpans = CountedSpans.limit
}
