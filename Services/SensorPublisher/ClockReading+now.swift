import Messages
import ZeroMQ

extension ClockReading {
    /// Both clocks, read one right after the other.
    static var now: ClockReading {
        ClockReading(uptime: Nanoseconds.seconds(MonotonicClock.now), date: .now)
    }
}
