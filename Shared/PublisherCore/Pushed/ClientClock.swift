import Messages
import SampleSources

/// The conversion of a client's times to uptimes of this machine.
///
/// Uptimes stand still while this machine sleeps; a client's clock may continue. Dates do continue. Any other clock may be that
/// of a program on this machine, which sleeps with it: it is assumed to stand still too, until its times are too far ahead.
final class ClientClock {
    /// How far times may get ahead of their first or usual lead, in nanoseconds: the transit time of messages varies.
    static let furthestAhead = 2 * Nanoseconds.perSecond
    /// The first time that is taken for a date: 2001, in nanoseconds since 1970.
    static let firstDate: Int64 = 1_000_000_000_000_000_000

    /// Nanoseconds to add to the client's times to get those of the clock that continues while this machine sleeps.
    private var offset: Int64
    /// How far that clock was ahead of uptimes when this conversion was made, in nanoseconds.
    private var difference: Int64
    private var continues: Bool
    /// The largest lead of the client's times before a sleep, in nanoseconds: the first message may have been late.
    private var usualLead: Int64 = 0
    /// How far the client's times were ahead when this conversion was made, in nanoseconds; not negative.
    private var firstLead: Int64 = 0
    /// Whether the client's times are dates that agreed with this machine's.
    private(set) var isDate: Bool
    /// How often the client's clock was paired anew.
    private(set) var pairing = 0

    /// - Parameters:
    ///   - time: the time on the client's clock at the moment `uptime`.
    ///   - newest: the newest time in the client's message at that moment.
    ///   - continues: whether the client's clock is known to continue while this machine sleeps.
    ///   - isDate: whether the client's times are dates that agree with this machine's.
    init(
        _ time: Int64, at uptime: Int64, by watch: SleepWatch, newest: Int64, continues: Bool, isDate: Bool = false
    ) {
        offset = watch.elapsed(at: uptime) - time
        difference = watch.difference
        firstLead = max(0, newest - time)
        self.continues = continues
        self.isDate = isDate
    }

    /// For times that are uptimes already.
    init() { (offset, difference, continues, isDate) = (0, 0, false, false) }

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

    /// Whether the newest time in a message shows that the client's clock must be paired anew: the message with which
    /// it was paired came late, or the clock was set.
    func isAhead(_ newest: Int64, at uptime: Int64, by watch: SleepWatch) -> Bool {
        lead(of: newest, at: uptime, by: watch) > firstLead + Self.furthestAhead
    }

    /// Whether a time agrees with its arrival.
    func agrees(_ time: Int64, at uptime: Int64, by watch: SleepWatch) -> Bool {
        lead(of: time, at: uptime, by: watch).magnitude <= Self.furthestAhead.magnitude
    }

    /// Whether dates were paired while this machine's clock was wrong: the newest time in a message agrees better with
    /// the present date than with the conversion.
    func isOutdated(_ newest: Int64, at uptime: Int64, date: WallTime, by watch: SleepWatch) -> Bool {
        isDate && Self.isOutdated(newest, lead: lead(of: newest, at: uptime, by: watch), date: date)
    }

    /// Whether a time agrees better with the present date than with its conversion, by which it is `lead` nanoseconds ahead.
    static func isOutdated(_ time: Int64, lead: Int64, date: WallTime) -> Bool {
        distance(of: time, from: date) + furthestAhead.magnitude < lead.magnitude
    }

    /// Whether a time is a date that agrees with this machine's.
    static func isPresent(_ time: Int64, date: WallTime) -> Bool {
        time >= firstDate && distance(of: time, from: date) <= furthestAhead.magnitude
    }

    private static func distance(of time: Int64, from date: WallTime) -> UInt64 {
        time.subtractingClamped(date.nanosecondsSince1970).magnitude
    }

    /// Replaces the conversion, for all that share it.
    func pairAnew(as other: ClientClock) {
        (offset, difference, usualLead, firstLead) = (other.offset, other.difference, 0, other.firstLead)
        continues = continues || other.continues
        isDate = other.isDate
        pairing += 1
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
