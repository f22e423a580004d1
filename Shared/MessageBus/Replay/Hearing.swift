import Messages

/// When a stream's publisher was heard, by its descriptions of the stream, on the monotonic clock in nanoseconds.
package struct Hearing: Sendable {
    /// For this time after its last description, a publisher counts as heard: it describes each stream every second, and two
    /// descriptions may be missing. Time in which the network is down must not count as silence.
    private static let longestBreak: Int64 = 3_000_000_000

    package private(set) var last: Int64
    /// The first description since the last break.
    private var first: Int64

    /// Creates the hearing of a publisher that is heard for the first time; `.min` if it was not heard yet.
    package init(at now: Int64) { (first, last) = (now, now) }

    /// Records that the publisher is heard.
    package mutating func note(at now: Int64) {
        if since(at: now) == nil { first = now }
        last = now
    }

    /// Since when the publisher is heard without a break; nil if it is not heard at present.
    package func since(at now: Int64) -> Int64? {
        now.subtractingClamped(last) < Self.longestBreak ? first : nil
    }
}
