import Glibc

/// CLOCK_BOOTTIME, in nanoseconds: it continues while the machine sleeps, whereas `MonotonicClock` stops.
package enum BootClock {
    package static var now: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
