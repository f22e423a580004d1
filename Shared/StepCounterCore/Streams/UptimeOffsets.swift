import Messages

/// How far another clock is ahead of a device's uptimes, by uptime: the offset changes if a machine sleeps or a clock is set.
///
/// A detector credits steps seconds after they were made, and replayed samples were taken long ago: each needs the offset at its
/// own time, not the present one. Uptimes before the first known offset use that offset.
package struct UptimeOffsets: Codable, Hashable, Sendable {
    /// The most offsets to remember, so that a clock that jumps all the time cannot fill the memory.
    private static let limit = 16
    /// Two offsets that differ by less than this count as one, in nanoseconds: messages take time, and clocks drift.
    private static let tolerance = 50_000_000

    private struct Offset: Codable, Hashable {
        /// The first uptime to which it applies, in nanoseconds.
        let from: Int64
        /// In nanoseconds.
        var value: Int64
    }

    /// In the order of their uptimes.
    private var offsets: [Offset] = []

    package init() {}

    /// Notes the offset from an uptime on.
    /// - Parameters:
    ///   - offset: nanoseconds to add to uptimes.
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

    /// The other clock's time at an uptime, in nanoseconds.
    func time(at uptime: Int64) -> Int64 {
        let offset = offsets.last { $0.from <= uptime } ?? offsets.first
        return uptime.addingClamped(offset?.value ?? 0)
    }
}
