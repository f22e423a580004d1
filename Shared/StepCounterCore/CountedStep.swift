package import Messages

/// A step that the history keeps.
package struct CountedStep: Hashable, Sendable {
    /// When it was made, on the device's clock.
    package var date: WallTime
    /// How many more true steps its bout is expected to have than before it; nil if it was counted before that was known.
    package var expected: Double?

    package init(date: WallTime, expected: Double? = nil) {
        self.date = date
        self.expected = expected
    }
}
