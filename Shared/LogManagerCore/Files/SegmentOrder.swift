package import Recording

/// Where a file stands among those of its log in a session: stamp, then count, as numbers.
package struct SegmentOrder: Hashable, Sendable, Comparable {
    package var stamp: Int64
    package var count: Int
    /// Tells files apart that differ in nothing else.
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
