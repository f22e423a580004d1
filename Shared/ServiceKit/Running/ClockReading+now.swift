package import Messages
import ZeroMQ

extension ClockReading {
    /// Both clocks, read one right after the other: where the machine did something else in between, once more.
    package static var now: ClockReading {
        var start = MonotonicClock.now
        var date = WallTime.now
        for _ in 0..<10 where MonotonicClock.now - start > 100_000 {
            start = MonotonicClock.now
            date = .now
        }
        return ClockReading(uptime: Double(start) / 1e9, date: date)
    }
}
