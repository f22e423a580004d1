package import Messages

/// A step in the history.
package struct CountedStep: Hashable, Sendable {
    /// When the step was made, on the device's clock.
    package var date: WallTime
    /// How much this step increases the number of true steps expected in its bout; nil if it was counted by an older version.
    package var expected: Double?

    package init(date: WallTime, expected: Double? = nil) {
        self.date = date
        self.expected = expected
    }
}
