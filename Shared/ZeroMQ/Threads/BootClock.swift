import Glibc

/// CLOCK_BOOTTIME, in nanoseconds: it continues while the machine sleeps, when `MonotonicClock` stands still.
package enum BootClock {
    /// This instant.
    package static var now: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
