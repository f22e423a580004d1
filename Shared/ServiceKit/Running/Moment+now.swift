package import Messages
import ZeroMQ

extension Moment {
    /// The maximum distance between the two readings, in nanoseconds.
    private static let maximumApart: Int64 = 100_000

    /// Both of this machine's clocks, read one right after the other.
    package static var now: Moment {
        var elapsed: Int64 = 0
        var now = read(
            monotonic: { MonotonicClock.now },
            date: {
                elapsed = BootClock.now
                return .now
            })
        now.slept = elapsed - now.monotonic
        return now
    }

    /// Reads both clocks, and repeats that up to ten times if the machine was busy in between: code that dates all samples of
    /// an epoch by its first reading would date them all wrong.
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
    /// The reading of this machine's clocks for messages.
    package static var now: ClockReading {
        let now = Moment.now
        return ClockReading(uptime: Double(now.monotonic) / 1e9, date: now.date)
    }
}
