import Messages
import Recording

/// One run of a publisher, as a session sees it.
struct PublisherEpoch {
    let name: String
    /// The epoch as it stands in a body: compared before anything is decoded.
    let token: [UInt8]
    /// What was seen first of its clock.
    private(set) var reading: ClockReading
    /// The publisher's uptime at the session's start, in nanoseconds, sleep not counted.
    private(set) var start: Int64
    /// The sleep of the publisher's machine, once it is known whether there is any.
    private(set) var sleeps: UptimeClock?
    /// The first sample that belongs to the session.
    var from = 0
    /// The first sample that does not belong to it any more, once that is known.
    var end: Int?
    /// Where its samples can be asked for.
    var replay: String
    /// When the publisher described it last, on the recorder's clock.
    private(set) var heard: WallTime
    /// Whether the recorder was away while it may have ended: then nobody may know how far it came.
    var isUnseen = false
    /// Whether its clock is another epoch's, because nothing was stored of its own yet.
    private(set) var isGuessed = false

    /// An epoch that is met.
    init(
        _ name: String, token: [UInt8]? = nil, clock reading: ClockReading, replay: String, startDate: WallTime
    ) throws(MessageError) {
        self.name = name
        self.token = token ?? Self.token(of: name)
        self.reading = reading
        self.replay = replay
        heard = .now
        start = try Self.origin(reading, startDate: startDate)
    }

    /// An epoch of a session that was cut off.
    init(_ stored: SessionRecord.Epoch, startDate: WallTime) throws(MessageError) {
        try self.init(stored.epoch, clock: stored.clock, replay: stored.replay, startDate: startDate)
        from = stored.from
        end = stored.end
        sleeps = stored.sleeps
        hasSlept = origin(at: .max) != start
        heard = stored.heard
    }

    /// An epoch of which only records are left. It has the clock of another one until it is heard of.
    init(_ name: String, like other: PublisherEpoch) {
        self.name = name
        token = Self.token(of: name)
        reading = other.reading
        start = other.start
        replay = other.replay
        heard = other.heard
        isGuessed = true
    }

    /// An epoch as it stands in a body.
    private static func token(of name: String) -> [UInt8] { Array("\"\(name)\"".utf8) }

    /// What the session stores of it.
    /// - Parameter next: the sample after the last that was taken or given up.
    func record(next: Int) -> SessionRecord.Epoch {
        SessionRecord.Epoch(
            epoch: name, clock: reading, replay: replay, from: from, next: max(from, next), end: end, heard: heard,
            sleeps: sleeps)
    }

    /// Takes what a publisher's clock says, for the first time where that was not known.
    mutating func take(_ clock: ClockReading, startDate: WallTime) throws(MessageError) {
        guard isGuessed else { return }
        start = try Self.origin(clock, startDate: startDate)
        reading = clock
        isGuessed = false
    }

    /// Notes what the publisher says of it.
    /// - Returns: whether its machine slept.
    mutating func describe(_ description: StreamDescription) -> Bool {
        replay = description.replay
        heard = .now
        isUnseen = false
        if sleeps == nil { sleeps = UptimeClock(description.clock) }
        let hasSlept = sleeps?.note(description.clock) ?? false
        self.hasSlept = self.hasSlept || hasSlept
        return hasSlept
    }

    /// Whether its machine slept, so that `origin(at:)` depends on the uptime.
    private(set) var hasSlept = false

    /// What must be subtracted from an uptime, in nanoseconds, to get the time since the session's start, sleep included.
    func origin(at uptime: Int64) -> Int64 { sleeps?.origin(at: uptime, start: start) ?? start }

    /// The uptime at the session's start, in nanoseconds.
    static func origin(_ clock: ClockReading, startDate: WallTime) throws(MessageError) -> Int64 {
        let (sinceStart, overflow) = clock.date.nanosecondsSince1970.subtractingReportingOverflow(
            startDate.nanosecondsSince1970)
        guard clock.uptime.magnitude < 4e9, !overflow, sinceStart.magnitude < 1 << 62 else {
            throw MessageError(
                .outOfRange, "uptime \(clock.uptime) at \(clock.date.utcText) can't be a clock's reading")
        }
        return Int64((clock.uptime * 1e9).rounded()) - sinceStart
    }
}
