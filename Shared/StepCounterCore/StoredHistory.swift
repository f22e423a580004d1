package import Messages

/// The content of the history from which a step-counter continues.
package struct StoredHistory: Sendable {
    package var positions: [StreamName: StreamPosition]
    /// The last spans of each device, in the order of their numbers.
    package var spans: [String: [CountedSpan]]
    package var subscriptions: [StepSubscription]
    /// nil if none was stored.
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

    /// The most spans of a device to read.
    package static let maximumSpans = CountedSpans.limit
}
