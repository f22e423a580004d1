package import Messages
import ZeroMQ

extension ClockReading {
    /// Both clocks, read one right after the other.
    package static var now: ClockReading {
        ClockReading(uptime: Double(MonotonicClock.now) / 1e9, date: .now)
    }
}
