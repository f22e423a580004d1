import SampleSources

/// The conversion of a client's times to uptimes of this machine.
///
/// Uptimes stand still while this machine sleeps; a client's clock may continue. Dates do continue. Any other clock may be that
/// of a program on this machine, which sleeps with it: it is assumed to stand still too, until its times are too far ahead.
final class ClientClock {
    /// How far times may get ahead after a sleep, in nanoseconds: the transit time of messages varies.
    private static let furthestAhead = 2 * Nanoseconds.perSecond

    /// Nanoseconds to add to the client's times to get those of the clock that continues while this machine sleeps.
    private let offset: Int64
    /// How far that clock was ahead of uptimes when this conversion was made, in nanoseconds.
    private let difference: Int64
    private var continues: Bool
    /// The largest lead of the client's times before a sleep, in nanoseconds: the first message may have been late.
    private var usualLead: Int64 = 0

    /// - Parameters:
    ///   - time: the time on the client's clock at the moment `uptime`.
    ///   - continues: whether the client's clock is known to continue while this machine sleeps.
    init(_ time: Int64, at uptime: Int64, by watch: SleepWatch, continues: Bool) {
        offset = watch.elapsed(at: uptime) - time
        difference = watch.difference
        self.continues = continues
    }

    /// For times that are uptimes already.
    init() { (offset, difference, continues) = (0, 0, false) }

    /// Takes the newest time in a message.
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
