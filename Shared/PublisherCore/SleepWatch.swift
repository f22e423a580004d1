/// Notices that the machine slept: the clock of uptimes stood still meanwhile, and CLOCK_BOOTTIME continued (man 2 clock_gettime).
///
/// How far the two are apart never shrinks. CLOCK_BOOTTIME is to be read first: a thread that is held up between the two
/// readings then sees too small a difference, which hides a sleep until the next look, but never invents one.
package struct SleepWatch: Sendable {
    /// The shortest sleep that is noticed, in nanoseconds.
    package static let shortestSleep: Int64 = 1_000_000

    /// How far the clocks are apart.
    private var difference: Int64

    /// Begins with what two clocks say.
    package init(elapsed: Int64, uptime: Int64) {
        difference = elapsed - uptime
    }

    /// Looks at the clocks, of which `elapsed` was read first.
    ///
    /// - Returns: how long the machine slept since the last look, in nanoseconds; nil if it did not.
    package mutating func notice(elapsed: Int64, uptime: Int64) -> Int64? {
        let slept = elapsed - uptime - difference
        guard slept > Self.shortestSleep else { return nil }
        difference += slept
        return slept
    }

    /// What the other clock says at an uptime since the last sleep.
    package func elapsed(at uptime: Int64) -> Int64 { uptime + difference }
}
