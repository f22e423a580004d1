package import Messages
package import Recording
import ServiceKit

/// One run of a publisher, as a session sees it.
package struct PublisherEpoch {
    /// Nanoseconds. A smaller difference does not mean that a clock was set.
    private static let leastSet = 1_000_000_000
    /// Nanoseconds. Two messages of one run are further apart only if a clock was set.
    private static let longestStep: Int64 = 10_000_000_000

    /// The stored state of the run; `next` is filled in when it is stored.
    package var record: SessionRecord.Epoch {
        didSet { isNoted = false }
    }
    /// Whether the write-ahead log or `session.json` has the record as it is, apart from `next`.
    var isNoted = false
    /// Whether the publisher has stated the run's rate. A resumed run keeps the one it has, if any.
    var isRateKnown = false
    /// The epoch's name as it is spelled in the last body: compared before anything is decoded.
    var token: [UInt8]
    /// The publisher's uptime at the session's start, in nanoseconds, if it did not sleep between then and `record.clock`.
    package private(set) var start: Int64
    /// Whether the publisher's machine slept, so that `origin(at:)` depends on the uptime.
    var hasSlept: Bool { record.sleeps?.hasSlept == true }
    /// When the last message of the run arrived, in nanoseconds on the monotonic clock.
    package private(set) var heardAt: Int64
    /// The same on this machine's wall clock, which continues while the machine sleeps.
    private var heardDate: WallTime
    /// When the last batch of the run arrived, on the monotonic clock; before the first, when the run was first met.
    private(set) var sampledAt: Int64
    /// When the publisher sent the last message, by its own clock; nil if unknown.
    private var publishedAt: WallTime?
    /// The publisher's uptime at the last message, in nanoseconds: the uptime it reported last, plus the time between messages
    /// since. Nil before the first report.
    private var heardUptime: Int64?
    /// Whether the run may have published samples after the last one received, before it ended.
    var isUnseen: Bool {
        get { record.isUnseen == true }
        set { record.isUnseen = newValue ? true : nil }
    }
    /// Whether the run was sampling when this recorder last heard it. `isUnseen` has what an earlier recorder heard.
    var mayRun = false
    /// The longest time between two batches, in nanoseconds.
    private(set) var longestPause: Int64 = 0
    /// Whether the publisher reported how far the run came before it ended.
    var isOver: Bool { record.isOver == true }
    /// Whether the run came from a relay, which still answers for it after its end.
    var isRelayed: Bool { record.isRelayed == true }
    /// When this recorder met the run by its samples, or resumed it, on the monotonic clock; nil once it is described. Until
    /// then, its replay address is that of the run before it, which may be another publisher's.
    private(set) var placeGuessedAt: Int64?
    /// Whether the clock is copied from another epoch, because none of this one was stored yet.
    private(set) var isGuessed = false

    package init(
        _ record: SessionRecord.Epoch, token: [UInt8]? = nil, startDate: WallTime, at now: Int64
    ) throws(MessageError) {
        heardAt = now
        heardDate = record.heard
        sampledAt = now
        placeGuessedAt = record.isReplayGuessed == true ? now : nil
        self.record = record
        self.token = token ?? Self.token(of: record.epoch)
        start = try Self.origin(record.clock, startDate: startDate)
    }

    /// An epoch known only from records. It uses another epoch's clock until its own is received.
    /// - Parameter now: on the monotonic clock.
    package init(_ name: String, like other: PublisherEpoch, at now: Int64) {
        record = SessionRecord.Epoch(
            name, clock: other.record.clock, heard: other.record.heard, after: other.record)
        placeGuessedAt = now
        token = Self.token(of: name)
        start = other.start
        heardAt = other.heardAt
        heardDate = other.heardDate
        sampledAt = other.sampledAt
        isGuessed = true
    }

    private static func token(of name: String) -> [UInt8] { Array("\"\(name)\"".utf8) }

    package var name: String { record.epoch }

    /// Notes that a message of the run arrived.
    /// - Parameters:
    ///   - published: when the publisher sent the message, by its own clock.
    ///   - isRunning: whether the run is sampling.
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

    /// Notes that a batch of the run arrived.
    mutating func sample(at now: Int64) {
        longestPause = max(longestPause, now - sampledAt)
        sampledAt = now
    }

    /// Nanoseconds since the run was last heard; a lower bound if this machine slept or its clock was set back.
    func unheard(at now: Moment) -> Int64 { max(now.monotonic - heardAt, now.date.distance(from: heardDate)) }

    /// Nanoseconds of silence before the publisher's next run: the longest of those by the recorder's clock and by the
    /// publisher's date and uptime. The last message may have waited for a recorder that slept or hung, and the publisher's clock
    /// may have been set meanwhile.
    /// - Parameter clock: the publisher's clock in its next run.
    func silence(until clock: ClockReading, at now: Int64) -> Int64 {
        let byDate = publishedAt.map(clock.date.distance) ?? 0
        // After a restart of the machine, the uptime is smaller.
        let uptime = Int64(nanosecondsIn: clock.uptime)
        let byUptime = heardUptime.map { uptime.subtractingClamped($0) } ?? 0
        return max(now - heardAt, byDate, byUptime)
    }

    /// Moves `record.heard` along with the recorder's clock.
    /// - Parameters:
    ///   - set: by how much the clock was set, in nanoseconds; less than a second counts as not set.
    ///   - now: upper bound: no run was heard later.
    mutating func moveHeard(by set: Int64, until now: WallTime) {
        let moved = min(set.magnitude < Self.leastSet ? record.heard : record.heard.adding(set), now)
        if moved != record.heard { record.heard = moved }
    }

    /// Replaces a guessed clock by the publisher's own reading.
    package mutating func take(_ clock: ClockReading, startDate: WallTime) throws(MessageError) {
        guard isGuessed else { return }
        start = try Self.origin(clock, startDate: startDate)
        record.clock = clock
        isGuessed = false
    }

    /// - Returns: whether the description has news: the machine slept, the run ended, the data's origin or device, whether the run
    ///   is relayed, or the replay address if it was guessed.
    package mutating func describe(_ description: StreamDescription, at now: Moment) -> Bool {
        let wasGuessed = record.isReplayGuessed == true
        record.replay = description.replay
        record.isReplayGuessed = nil
        placeGuessedAt = nil
        record.heard = now.date
        hear(description.clock.date, isRunning: description.mayRun, at: now)
        heardUptime = Int64(nanosecondsIn: description.clock.uptime)
        if record.sleeps == nil { record.sleeps = UptimeClock(record.clock) ?? UptimeClock(description.clock) }
        let hasSlept = record.sleeps?.note(description.clock) ?? false
        let wasOver = isOver
        // If a device numbers its samples itself, its run continues when its publisher restarts.
        record.isOver = description.over == true || wasOver && !description.mayRun ? true : nil
        let isOther = description.isRelayed != isRelayed
        if isOther { record.isRelayed = description.isRelayed ? true : nil }
        let isNew = noteRemote(description) || isOver != wasOver || isOther || wasGuessed
        guard record.origin != description.origin, let origin = description.origin else { return hasSlept || isNew }
        record.origin = origin
        return true
    }

    /// Notes which device with a clock of its own the data comes from, and how far that clock is ahead.
    /// - Returns: whether the device is new or another one.
    private mutating func noteRemote(_ description: StreamDescription) -> Bool {
        guard let clock = description.remoteClock else { return false }
        let known = record.remote
        record.remote = SessionRecord.Remote(
            description: description.description, first: known?.first ?? clock, last: clock)
        return known == nil || known?.description != description.description
    }

    /// Takes a reading of the publisher's clocks, in nanoseconds, from a batch.
    /// - Returns: whether it has news.
    mutating func noteSleep(uptime: Int64, elapsed: Int64) -> Bool {
        guard var sleeps = record.sleeps ?? UptimeClock(record.clock), sleeps.note(uptime: uptime, elapsed: elapsed)
        else { return false }
        record.sleeps = sleeps
        return true
    }

    /// Nanoseconds to subtract from an uptime to get the time since the session's start, sleep included.
    package func origin(at uptime: Int64) -> Int64 { record.sleeps?.origin(at: uptime, start: start) ?? start }

    /// The uptime at the session's start, in nanoseconds.
    package static func origin(_ clock: ClockReading, startDate: WallTime) throws(MessageError) -> Int64 {
        try clock.uptime(at: startDate)
    }
}
