import Messages
import Recording
import ServiceKit

/// The sessions for which something is to be done, and when: the one that waits longest is served first.
struct ArchiveQueue {
    private struct Entry {
        var lane: ArchiveLane
        /// Its place: lower ones first.
        var order: Int
        var due = Due.instant(.min)
        /// Whether it is being worked on.
        var isTaken = false
        /// How often in a row something went wrong.
        var failures = 0
        var failure: ArchiveFailure?
    }

    /// When something is to be done.
    private enum Due {
        /// On the monotonic clock.
        case instant(Int64)
        /// On the wall clock, so that a clock that is set takes effect.
        case date(WallTime)
        /// Not before somebody asks for it.
        case never

        /// On the monotonic clock; nil for never.
        func instant(at now: Moment) -> Int64? {
            switch self {
            case .instant(let instant): instant
            case .date(let date):
                now.monotonic.adding(max(0, date.nanosecondsSince1970 - now.date.nanosecondsSince1970))
            case .never: nil
            }
        }
    }

    /// The wait after the first failure in a row; each further one is twice as long, up to the last.
    static let firstWait = Duration.seconds(60)
    static let longestWait = Duration.seconds(3600)

    private var entries: [SessionIdentifier: Entry] = [:]
    private var nextOrder = 0
    private var frontOrder = -1

    /// Whether it has a session, waiting or being worked on.
    func contains(_ session: SessionIdentifier) -> Bool { entries[session] != nil }

    /// In which lane a session is being worked on; nil if it waits.
    func lane(of session: SessionIdentifier) -> ArchiveLane? {
        entries[session].flatMap { $0.isTaken ? $0.lane : nil }
    }

    /// What went wrong with a session last.
    func failure(of session: SessionIdentifier) -> ArchiveFailure? { entries[session]?.failure }

    /// How often in a row it went wrong.
    func failures(of session: SessionIdentifier) -> Int { entries[session]?.failures ?? 0 }

    /// What went wrong and has not gone right since.
    /// - Returns: how many sessions, and the first of them by name; nil if there is none.
    func failed(isRefusal: Bool) -> (count: Int, first: SessionIdentifier, reason: String)? {
        var found: (count: Int, first: SessionIdentifier, reason: String)?
        for (session, entry) in entries {
            guard let failure = entry.failure, failure.isRefusal == isRefusal else { continue }
            let isFirst = found.map { session < $0.first } ?? true
            found = (
                (found?.count ?? 0) + 1, isFirst ? session : found?.first ?? session,
                isFirst ? failure.reason : found?.reason ?? ""
            )
        }
        return found
    }

    /// How many sessions wait in a lane, and how many are being worked on.
    func counts(in lane: ArchiveLane) -> (waiting: Int, working: Int) {
        let entries = entries.values.filter { $0.lane == lane }
        let working = entries.count(where: \.isTaken)
        return (entries.count - working, working)
    }

    /// Adds what is to be done for a session next, or changes it. One that is being worked on stays as it is.
    mutating func note(_ session: SessionIdentifier, _ place: ArchiveStep.Place) {
        var entry = entries[session] ?? Entry(lane: place.lane, order: takeOrder())
        if entry.isTaken { return }
        entry.lane = place.lane
        if entry.failure == nil { entry.due = Self.due(place) }
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
    /// - Parameter isAllowed: whether a session may be taken that no request named.
    mutating func take(
        _ lane: ArchiveLane, at now: Moment, where isAllowed: (SessionIdentifier) -> Bool = { _ in true }
    ) -> SessionIdentifier? {
        var first: (session: SessionIdentifier, order: Int)?
        for (session, entry) in entries where !entry.isTaken && entry.lane == lane {
            guard let due = entry.due.instant(at: now), due <= now.monotonic, entry.order < first?.order ?? .max,
                entry.order < 0 || isAllowed(session)
            else { continue }
            first = (session, entry.order)
        }
        guard let session = first?.session else { return nil }
        entries[session]?.isTaken = true
        return session
    }

    /// When something is to be done next for which the time has not come yet, on the monotonic clock.
    func nextDue(after now: Moment) -> Int64? {
        entries.values.lazy.filter { !$0.isTaken }.compactMap { $0.due.instant(at: now) }.filter { $0 > now.monotonic }
            .min()
    }

    /// Ends the work on a session.
    /// - Parameter place: what is next for it; nil if there is nothing more to do.
    mutating func finish(_ session: SessionIdentifier, next place: ArchiveStep.Place?) {
        guard let entry = entries.removeValue(forKey: session), let place else { return }
        entries[session] = Entry(lane: place.lane, order: entry.order, due: Self.due(place))
    }

    /// Puts off a session that was taken, without counting a failure.
    /// - Parameter isLast: whether the others are served before it from now on.
    mutating func postpone(_ session: SessionIdentifier, by delay: Duration, isLast: Bool = false, at now: Moment) {
        entries[session]?.isTaken = false
        entries[session]?.due = .instant(now.monotonic.adding(delay.nanoseconds))
        guard isLast else { return }
        let order = takeOrder()
        entries[session]?.order = order
    }

    /// Puts off a session whose work failed; the others are served before it from now on.
    /// - Parameter isCounted: whether the next wait is to be longer for it.
    mutating func fail(
        _ session: SessionIdentifier, _ failure: ArchiveFailure, isCounted: Bool = true, at now: Moment
    ) {
        guard var entry = entries[session] else { return }
        if isCounted { entry.failures += 1 }
        entry.isTaken = false
        entry.failure = failure
        entry.order = takeOrder()
        entry.due =
            switch failure.retry {
            case .never: .never
            case .after(let time): .instant(now.monotonic.adding(time.nanoseconds))
            case .backingOff:
                .instant(now.monotonic.adding(Self.wait(afterFailures: entry.failures).nanoseconds))
            }
        entries[session] = entry
    }

    /// How long to wait after so many failures in a row.
    static func wait(afterFailures failures: Int) -> Duration {
        // Doubling six times is beyond the longest wait.
        min(longestWait, firstWait * (1 << min(max(failures - 1, 0), 6)))
    }

    private static func due(_ place: ArchiveStep.Place) -> Due { place.date.map { .date($0) } ?? .instant(.min) }

    private mutating func takeOrder() -> Int {
        defer { nextOrder += 1 }
        return nextOrder
    }
}

extension Duration {
    /// In whole nanoseconds, up to a century.
    fileprivate var nanoseconds: Int64 { Int64(min(self, .seconds(3_200_000_000)) / .nanoseconds(1)) }
}

extension Int64 {
    /// The sum, at most the largest number.
    func adding(_ other: Int64) -> Int64 {
        let (sum, isTooLarge) = addingReportingOverflow(other)
        return isTooLarge ? .max : sum
    }
}
