import Glibc
package import PublisherCore
import SampleSources
import ZeroMQ

extension SleepWatch {
    /// Begins with what the clocks say now.
    package init(elapsedClock: () -> Int64 = { Self.elapsedNow }) {
        // Of three looks it is unlikely that each was held up.
        self.init(elapsed: (0..<3).map { _ in elapsedClock() - MonotonicClock.now }.max() ?? 0, uptime: 0)
    }

    /// CLOCK_BOOTTIME, in nanoseconds.
    package static var elapsedNow: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return Int64(time.tv_sec) * Nanoseconds.perSecond + Int64(time.tv_nsec)
    }
}
