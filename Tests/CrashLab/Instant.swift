import Messages
import ZeroMQ

/// A moment on both clocks: arrivals are timed on the monotonic one; samples have times that convert to wall time.
struct Instant: Hashable, Sendable {
    /// Nanoseconds of `MonotonicClock`.
    var monotonic: Int64
    /// Seconds since 1970.
    var wall: Double

    static var now: Instant {
        Instant(monotonic: MonotonicClock.now, wall: Double(WallTime.now.nanosecondsSince1970) / 1e9)
    }

    /// A later moment; an earlier one if negative.
    func advanced(byMilliseconds milliseconds: Int64) -> Instant {
        Instant(monotonic: monotonic + milliseconds * 1_000_000, wall: wall + Double(milliseconds) / 1e3)
    }
}
