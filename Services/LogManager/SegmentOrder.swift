import Recording

/// Where a file stands among those of its log in a session: stamp, then count, as numbers.
struct SegmentOrder: Hashable, Sendable, Comparable {
    var stamp: Int64
    var count: Int
    /// Tells files apart that differ in nothing else.
    var format: Int

    init(_ name: FinishedName) {
        stamp = name.stampNumber
        count = name.count
        format = name.format.number
    }

    static func < (one: SegmentOrder, other: SegmentOrder) -> Bool {
        (one.stamp, one.count, one.format) < (other.stamp, other.count, other.format)
    }
}
