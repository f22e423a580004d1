package import Messages

/// A time in which all samples of a device were counted, on the device's clock.
package struct CountedSpan: Hashable, Sendable {
    /// Spans of a device are numbered in the order in which they were counted.
    package var number: Int
    /// The dates of the first and the last sample. They are equal in a span that began with a loss and has no sample yet.
    package var start: WallTime
    package var end: WallTime
    /// The number of samples lost between the previous span and this one.
    package var lost: Int
    /// Why they were lost; nil if none were.
    package var reason: Gap.Reason?

    package init(number: Int, start: WallTime, end: WallTime, lost: Int = 0, reason: Gap.Reason? = nil) {
        self.number = number
        self.start = start
        self.end = end
        self.lost = lost
        self.reason = reason
    }

    /// Whether no sample came since the loss.
    var isEmpty: Bool { reason != nil && start == end }
}
