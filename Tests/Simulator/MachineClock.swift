import Messages

/// The clocks of a machine: their offsets from virtual time, also during and after sleep.
struct MachineClock {
    /// Nanoseconds since 1970 at virtual time 0.
    static let start: Int64 = 1_800_000_000_000_000_000

    /// The monotonic clock at virtual time 0, in nanoseconds.
    let uptime: Int64
    /// How far the wall clock is ahead of virtual time, in nanoseconds.
    var ahead: Int64 = 0
    /// Nanoseconds of sleep until the machine last woke.
    private(set) var slept: Int64 = 0
    /// The times when the machine fell asleep and when it wakes; nil if it is awake.
    private(set) var sleep: Range<Int64>?
    private var formerSleeps: [Range<Int64>] = []

    init(uptime: Int64, ahead: Int64 = 0) {
        self.uptime = uptime
        self.ahead = ahead
    }

    /// Nanoseconds of the monotonic clock, which stops while the machine sleeps.
    func monotonic(at now: Int64) -> Int64 { uptime + (sleep?.lowerBound ?? now) - slept }

    private var sleeps: [Range<Int64>] { formerSleeps + (sleep.map { [$0] } ?? []) }

    /// Whether the machine slept at an earlier time.
    func slept(then time: Int64) -> Bool { sleeps.contains { $0.contains(time) } }

    /// The monotonic clock at an earlier time, perhaps before a sleep.
    func monotonic(then time: Int64) -> Int64 {
        uptime + time - sleeps.reduce(0) { $0 + max(0, min(time, $1.upperBound) - $1.lowerBound) }
    }

    /// The virtual time at which the monotonic clock reaches a value, unless the machine sleeps meanwhile.
    func time(of monotonic: Int64) -> Int64 {
        let time = monotonic.subtractingReportingOverflow(uptime - slept)
        return time.overflow ? (monotonic < 0 ? .min : .max) : time.partialValue
    }

    func date(at now: Int64) -> WallTime { WallTime(nanosecondsSince1970: Self.start + now + ahead) }

    func moment(at now: Int64) -> Moment {
        Moment(monotonic: monotonic(at: now), date: date(at: now), slept: slept(until: now))
    }

    /// Nanoseconds of a clock that continues during sleep.
    func elapsed(at now: Int64) -> Int64 { uptime + now }

    mutating func fallAsleep(at now: Int64, until end: Int64) { sleep = now..<end }

    mutating func wake(at now: Int64) {
        guard let sleep else { return }
        slept += now - sleep.lowerBound
        formerSleeps.append(sleep.lowerBound..<now)
        self.sleep = nil
    }

    /// Nanoseconds of sleep until a time.
    func slept(until now: Int64) -> Int64 { slept + (sleep.map { now - $0.lowerBound } ?? 0) }
}
