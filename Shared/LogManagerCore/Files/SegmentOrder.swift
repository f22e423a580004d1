package import Recording

/// Orders the files of one log in a session: by stamp, then by count, both as numbers.
package struct SegmentOrder: Hashable, Sendable, Comparable {
    package var stamp: Int64
    package var count: Int
    /// Distinguishes files that differ in nothing else.
    package var format: Int

    package init(_ name: FinishedName) {
        stamp = name.stampNumber
        count = name.count
        format = name.format.number
    }

    package static func < (one: SegmentOrder, other: SegmentOrder) -> Bool {
        (one.stamp, one.count, one.format) < (other.stamp, other.count, other.format)
    }
}
