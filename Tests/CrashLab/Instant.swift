import Messages
import ZeroMQ

/// A moment on both clocks: what arrived is timed on the monotonic one, samples name times that turn into wall time.
struct Instant: Hashable, Sendable {
    /// Nanoseconds of `MonotonicClock`.
    var monotonic: Int64
    /// Seconds since 1970.
    var wall: Double

    /// This moment.
    static var now: Instant {
        Instant(monotonic: MonotonicClock.now, wall: Double(WallTime.now.nanosecondsSince1970) / 1e9)
    }

    /// A later moment, or an earlier one.
    func advanced(byMilliseconds milliseconds: Int64) -> Instant {
        Instant(monotonic: monotonic + milliseconds * 1_000_000, wall: wall + Double(milliseconds) / 1e3)
    }
}
