import Messages

/// How far another clock is ahead of a device's uptimes, by the uptime: that changes if a machine sleeps or a clock is set.
///
/// A detector credits steps seconds after they were made, and what is replayed was sampled long ago: each must get the difference of
/// its own time, and not the present one. Of uptimes before the first that is known, that one holds.
package struct UptimeOffsets: Codable, Hashable, Sendable {
    /// How many differences are remembered, so that a clock that jumps all the time can't fill the memory.
    private static let limit = 16
    /// How far two differences may be apart to count as one, in nanoseconds: messages take time, and clocks drift.
    private static let tolerance = 50_000_000

    private struct Offset: Codable, Hashable {
        /// The first uptime for which it holds, in nanoseconds.
        let from: Int64
        /// In nanoseconds.
        var value: Int64
    }

    /// In the order of their uptimes.
    private var offsets: [Offset] = []

    package init() {}

    /// Notes the difference from an uptime on.
    /// - Parameters:
    ///   - offset: what must be added to uptimes, in nanoseconds.
    ///   - uptime: in nanoseconds.
    mutating func note(_ offset: Int64, from uptime: Int64) {
        while let last = offsets.last, last.from >= uptime { offsets.removeLast() }
        if let last = offsets.last, offset.subtractingClamped(last.value).magnitude < Self.tolerance {
            offsets[offsets.count - 1].value = offset
        } else {
            if offsets.count == Self.limit { offsets.removeFirst() }
            offsets.append(Offset(from: uptime, value: offset))
        }
    }

    /// What the other clock said at an uptime, in nanoseconds.
    func time(at uptime: Int64) -> Int64 {
        let offset = offsets.last { $0.from <= uptime } ?? offsets.first
        return uptime.addingClamped(offset?.value ?? 0)
    }
}
