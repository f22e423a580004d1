package import Messages
package import Recording
import ServiceKit

/// One run of a publisher, as a session sees it.
package struct PublisherEpoch {
    /// Clocks that differ by less are not taken for set, in nanoseconds.
    private static let leastSet = 1_000_000_000
    /// Messages of one run do not come further apart unless a clock was set, in nanoseconds.
    private static let longestStep: Int64 = 10_000_000_000

    /// What the session stores of it; how far it came is noted when that happens.
    package var record: SessionRecord.Epoch {
        didSet { isNoted = false }
    }
    /// Whether the write-ahead log or `session.json` has it as it is, but for how far it came.
    var isNoted = false
    /// The epoch as it stood in the last body: compared before anything is decoded.
    var token: [UInt8]
    /// The publisher's uptime at the session's start, in nanoseconds, sleep not counted.
    package private(set) var start: Int64
    /// Whether its machine slept, so that `origin(at:)` depends on the uptime.
    private(set) var hasSlept = false
    /// When something of it arrived last, on the monotonic clock.
    package private(set) var heardAt: Int64
    /// The same on this machine's wall clock, which continues while it sleeps.
    private var heardDate: WallTime
    /// When a batch of it arrived last, on the monotonic clock; before the first, when it was met.
    private(set) var sampledAt: Int64
    /// When its publisher sent what arrived last, by its own clock; nil if that is not known.
    private var publishedAt: WallTime?
    /// The publisher's uptime then, in nanoseconds: what it said last, and the time of what came since. Nil before it said one.
    private var heardUptime: Int64?
    /// Whether it may have published samples after the last that was received, before it ended.
    var isUnseen: Bool {
        get { record.isUnseen == true }
        set { record.isUnseen = newValue ? true : nil }
    }
    /// Whether it sampled when it was heard last. What a recorder before this one heard is in `isUnseen`.
    var mayRun = false
    /// The longest time between two batches, in nanoseconds.
    private(set) var longestPause: Int64 = 0
    /// Whether its publisher told how far it came before it ended.
    var isOver: Bool { record.isOver == true }
    /// Whether it came from a relay, which still answers for it when it is over.
    var isRelayed: Bool { record.isRelayed == true }
    /// Whether its clock is another epoch's, because nothing was stored of its own yet.
    private(set) var isGuessed = false

    package init(
        _ record: SessionRecord.Epoch, token: [UInt8]? = nil, startDate: WallTime, at now: Int64
    ) throws(MessageError) {
        heardAt = now
        heardDate = record.heard
        sampledAt = now
        self.record = record
        self.token = token ?? Self.token(of: record.epoch)
        start = try Self.origin(record.clock, startDate: startDate)
        hasSlept = origin(at: .max) != start
    }

    /// An epoch of which only records are left. It has the clock of another one until it is heard of.
    package init(_ name: String, like other: PublisherEpoch) {
        record = SessionRecord.Epoch(
            epoch: name, clock: other.record.clock, replay: other.record.replay, heard: other.record.heard)
        record.isRelayed = other.record.isRelayed
        token = Self.token(of: name)
        start = other.start
        heardAt = other.heardAt
        heardDate = other.heardDate
        sampledAt = other.sampledAt
        isGuessed = true
    }

    private static func token(of name: String) -> [UInt8] { Array("\"\(name)\"".utf8) }

    package var name: String { record.epoch }

    /// Notes that something of it arrived.
    /// - Parameters:
    ///   - published: when its publisher sent that, by its own clock.
    ///   - isRunning: whether it samples.
    mutating func hear(_ published: WallTime?, isRunning: Bool = true, at now: Moment) {
        (heardAt, heardDate) = (now.monotonic, now.date)
        mayRun = isRunning
        if let published {
            if let heardUptime, let step = publishedAt.map(published.distance), (0..<Self.longestStep).contains(step) {
                self.heardUptime = heardUptime.addingClamped(step)
            }
            publishedAt = published
        }
        if isUnseen { isUnseen = false }
    }

    /// Notes that a batch of it arrived.
    mutating func sample(at now: Int64) {
        longestPause = max(longestPause, now - sampledAt)
        sampledAt = now
    }

    /// How long ago that was, in nanoseconds: at least, if this machine slept, or its clock was set back.
    func unheard(at now: Moment) -> Int64 { max(now.monotonic - heardAt, now.date.distance(from: heardDate)) }

    /// Nanoseconds of silence before the publisher's next run, by the recorder's clock or the publisher's date or uptime, whichever is longest: the
    /// last message may have waited for a recorder that slept or hung, and the publisher's clock may have been set meanwhile.
    /// - Parameter clock: the publisher's clock in its next run.
    func silence(until clock: ClockReading, at now: Int64) -> Int64 {
        let byDate = publishedAt.map(clock.date.distance) ?? 0
        // The uptime of a machine that was started anew is less.
        let uptime = Int64(nanosecondsIn: clock.uptime)
        let byUptime = heardUptime.map { uptime.subtractingClamped($0) } ?? 0
        return max(now - heardAt, byDate, byUptime)
    }

    /// Moves the date at which it was heard along with the recorder's clock.
    /// - Parameters:
    ///   - set: by how much the clock was set, in nanoseconds; less than a second is none.
    ///   - now: no run was heard later.
    mutating func moveHeard(by set: Int64, until now: WallTime) {
        let moved = min(set.magnitude < Self.leastSet ? record.heard : record.heard.adding(set), now)
        if moved != record.heard { record.heard = moved }
    }

    /// Takes what a publisher's clock says, for the first time if that was not known.
    package mutating func take(_ clock: ClockReading, startDate: WallTime) throws(MessageError) {
        guard isGuessed else { return }
        start = try Self.origin(clock, startDate: startDate)
        record.clock = clock
        isGuessed = false
    }

    /// - Returns: whether its machine slept, it ended, or its data's origin or device, or that it is relayed, was not known before.
    package mutating func describe(_ description: StreamDescription, at now: Moment) -> Bool {
        record.replay = description.replay
        record.heard = now.date
        hear(description.clock.date, isRunning: description.mayRun, at: now)
        heardUptime = Int64(nanosecondsIn: description.clock.uptime)
        if record.sleeps == nil { record.sleeps = UptimeClock(description.clock) }
        let hasSlept = record.sleeps?.note(description.clock) ?? false
        self.hasSlept = self.hasSlept || hasSlept
        let wasOver = isOver
        // A device that numbers its samples itself continues its run when its publisher restarts.
        record.isOver = description.over == true || wasOver && !description.mayRun ? true : nil
        let isOther = description.isRelayed != isRelayed
        if isOther { record.isRelayed = description.isRelayed ? true : nil }
        let isNew = noteRemote(description) || isOver != wasOver || isOther
        guard record.origin != description.origin, let origin = description.origin else { return hasSlept || isNew }
        record.origin = origin
        return true
    }

    /// Notes what a device with a clock of its own is, and how far its clock is ahead.
    /// - Returns: whether it is another one than before.
    private mutating func noteRemote(_ description: StreamDescription) -> Bool {
        guard let clock = description.remoteClock else { return false }
        let known = record.remote
        record.remote = SessionRecord.Remote(
            description: description.description, first: known?.first ?? clock, last: clock)
        return known == nil || known?.description != description.description
    }

    /// What must be subtracted from an uptime, in nanoseconds, to get the time since the session's start, sleep included.
    package func origin(at uptime: Int64) -> Int64 { record.sleeps?.origin(at: uptime, start: start) ?? start }

    /// The uptime at the session's start, in nanoseconds.
    package static func origin(_ clock: ClockReading, startDate: WallTime) throws(MessageError) -> Int64 {
        try clock.uptime(at: startDate)
    }
}

extension StreamDescription {
    /// Whether a relay publishes the stream, on behalf of a publisher elsewhere.
    var isRelayed: Bool { source == Program.relay.rawValue }
}
