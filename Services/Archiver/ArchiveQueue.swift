import Recording

/// The sessions for which something is to be done, and when: who asked first is served first.
///
/// No threads and no clock: instants are nanoseconds of `MonotonicClock`.
struct ArchiveQueue {
    /// A session.
    private struct Entry {
        var lane: ArchiveLane
        /// Its place: lower ones first.
        var order: Int
        var notBefore = Int64.min
        /// Whether somebody works on it.
        var isTaken = false
        var failures = 0
        var failure: ArchiveFailure?
    }

    /// The wait after the first failure in a row; each further one is twice as long, up to the last.
    static let firstWait = Duration.seconds(60)
    static let longestWait = Duration.seconds(3600)

    private var entries: [SessionIdentifier: Entry] = [:]
    private var nextOrder = 0
    private var frontOrder = -1

    /// Whether it has a session, waiting or being worked on.
    func contains(_ session: SessionIdentifier) -> Bool { entries[session] != nil }

    /// Whether somebody works on a session, and in which lane.
    func lane(of session: SessionIdentifier) -> ArchiveLane? {
        entries[session].flatMap { $0.isTaken ? $0.lane : nil }
    }

    /// What went wrong with a session last.
    func failure(of session: SessionIdentifier) -> ArchiveFailure? { entries[session]?.failure }

    /// How often in a row it went wrong.
    func failures(of session: SessionIdentifier) -> Int { entries[session]?.failures ?? 0 }

    /// What went wrong and has not gone right since, by session.
    var failed: [(session: SessionIdentifier, failure: ArchiveFailure)] {
        entries.compactMap { session, entry in entry.failure.map { (session, $0) } }.sorted { $0.session < $1.session }
    }

    /// How many sessions wait in a lane, and how many are being worked on.
    func counts(in lane: ArchiveLane) -> (waiting: Int, working: Int) {
        let entries = entries.values.filter { $0.lane == lane }
        let working = entries.count(where: \.isTaken)
        return (entries.count - working, working)
    }

    /// Says what is to be done for a session next; one that somebody works on says it when that is done.
    /// - Parameter delay: how long nothing is to be done before.
    mutating func note(_ session: SessionIdentifier, _ lane: ArchiveLane, after delay: Duration = .zero, at now: Int64)
    {
        var entry = entries[session] ?? Entry(lane: lane, order: takeOrder())
        if entry.isTaken { return }
        entry.lane = lane
        if entry.failure == nil { entry.notBefore = now + delay.nanoseconds }
        entries[session] = entry
    }

    /// Has a session done before the others, now, whatever failed before.
    mutating func hurry(_ session: SessionIdentifier, _ lane: ArchiveLane) {
        let old = entries[session]
        if old?.isTaken == true { return }
        entries[session] = Entry(lane: lane, order: frontOrder, failure: old?.failure)
        frontOrder -= 1
    }

    /// Takes the first session for which something is to be done now.
    mutating func take(_ lane: ArchiveLane, at now: Int64) -> SessionIdentifier? {
        let due = entries.lazy.filter { _, entry in !entry.isTaken && entry.lane == lane && entry.notBefore <= now }
        guard let session = due.min(by: { $0.value.order < $1.value.order })?.key else { return nil }
        entries[session]?.isTaken = true
        return session
    }

    /// Whether there is something to be done now.
    func isDue(at now: Int64) -> Bool { entries.values.contains { !$0.isTaken && $0.notBefore <= now } }

    /// What was taken is done.
    /// - Parameter lane: who goes on; `nil` where there is nothing more to do.
    mutating func finish(
        _ session: SessionIdentifier, next lane: ArchiveLane?, after delay: Duration = .zero, at now: Int64
    ) {
        guard let entry = entries.removeValue(forKey: session), let lane else { return }
        entries[session] = Entry(lane: lane, order: entry.order, notBefore: now + delay.nanoseconds)
    }

    /// What was taken was not done, and nobody is to blame: somebody else has the session.
    mutating func postpone(_ session: SessionIdentifier, by delay: Duration, at now: Int64) {
        entries[session]?.isTaken = false
        entries[session]?.notBefore = now + delay.nanoseconds
    }

    /// What was taken failed.
    /// - Parameter isCounted: whether the next wait is to be longer for it.
    mutating func fail(_ session: SessionIdentifier, _ failure: ArchiveFailure, isCounted: Bool = true, at now: Int64) {
        guard var entry = entries[session] else { return }
        if isCounted { entry.failures += 1 }
        entry.isTaken = false
        entry.failure = failure
        entry.notBefore =
            switch failure.retry {
            case .never: .max
            case .after(let time): now + time.nanoseconds
            case .backingOff: now + Self.wait(afterFailures: entry.failures).nanoseconds
            }
        entries[session] = entry
    }

    /// How long to wait after so many failures in a row.
    static func wait(afterFailures failures: Int) -> Duration {
        // Doubling six times is beyond the longest wait.
        min(longestWait, firstWait * (1 << min(max(failures - 1, 0), 6)))
    }

    private mutating func takeOrder() -> Int {
        defer { nextOrder += 1 }
        return nextOrder
    }
}

extension Duration {
    /// In whole nanoseconds, up to a century.
    fileprivate var nanoseconds: Int64 { Int64(min(self, .seconds(3_200_000_000)) / .nanoseconds(1)) }
}
