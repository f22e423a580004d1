import SampleSources

/// How a client's times lead to uptimes of this machine.
///
/// A client's clock continues while this machine sleeps, and uptimes stand still. Dates do continue. Any other clock may be that of a
/// program on this machine, which sleeps with it: it is taken to stand still too, until its times are too far ahead for that.
final class ClientClock {
    /// How far times may get ahead after a sleep, in nanoseconds: messages do not all take equally long.
    private static let furthestAhead = 2 * Nanoseconds.perSecond

    /// What is added to the client's times to get those of the clock that continues while this machine sleeps, in nanoseconds.
    private let offset: Int64
    /// How far that clock was ahead of uptimes when this began.
    private let difference: Int64
    private var continues: Bool
    /// How far times were ahead before a sleep, in nanoseconds: the first message may have come late.
    private var usualLead: Int64 = 0

    /// - Parameters:
    ///   - time: of the client's clock, at the same moment as the two clocks of `watch` and `uptime`.
    ///   - continues: whether it is known to continue while this machine sleeps.
    init(_ time: Int64, at uptime: Int64, by watch: SleepWatch, continues: Bool) {
        offset = watch.elapsed(at: uptime) - time
        difference = watch.difference
        self.continues = continues
    }

    /// Times that are uptimes already.
    init() { (offset, difference, continues) = (0, 0, false) }

    /// Takes the newest time that a message tells.
    func note(_ newest: Int64, at uptime: Int64, by watch: SleepWatch) {
        guard !continues else { return }
        let lead = lead(of: newest, at: uptime, by: watch)
        if watch.difference == difference {
            usualLead = max(usualLead, lead)
        } else if lead - Self.furthestAhead > usualLead {
            continues = true
        }
    }

    /// How far a time is ahead of this machine's, in nanoseconds.
    func lead(of time: Int64, at uptime: Int64, by watch: SleepWatch) -> Int64 {
        let sum = time.addingReportingOverflow(offset)
        guard !sum.overflow else { return .max }
        return sum.partialValue - (continues ? watch.elapsed(at: uptime) : uptime + difference)
    }

    /// The uptime of one of the client's times, in nanoseconds.
    func uptime(of time: Int64, by watch: SleepWatch) -> Int64 {
        continues ? watch.uptime(ofElapsed: time + offset) : time + offset - difference
    }
}
