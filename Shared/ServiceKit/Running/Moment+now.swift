package import Messages
import ZeroMQ

extension Moment {
    /// How far apart two readings may be, in nanoseconds.
    private static let maximumApart: Int64 = 100_000

    /// Both of this machine's clocks, read one right after the other.
    package static var now: Moment { read(monotonic: { MonotonicClock.now }, date: { .now }) }

    /// Both clocks. Where the machine did something else in between, once more, ten times at most: what dates a run's samples by its
    /// first reading would date them all wrong.
    static func read(monotonic: () -> Int64, date: () -> WallTime) -> Moment {
        var now = Moment(monotonic: monotonic(), date: date())
        var readings = 1
        while readings < 10, monotonic() - now.monotonic > maximumApart {
            now = Moment(monotonic: monotonic(), date: date())
            readings += 1
        }
        return now
    }
}

extension ClockReading {
    /// What a program says of this machine's clocks.
    package static var now: ClockReading {
        let now = Moment.now
        return ClockReading(uptime: Double(now.monotonic) / 1e9, date: now.date)
    }
}
