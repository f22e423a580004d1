import Messages
import Recording
import ServiceKit

/// The sessions with pending work and its time. The session that has waited longest is served first.
struct ArchiveQueue {
    private struct Entry {
        var lane: ArchiveLane
        /// The position in the queue: lower values first.
        var order: Int
        var due = Due.instant(.min)
        /// Whether the session is being worked on.
        var isTaken = false
        /// The number of consecutive failures.
        var failures = 0
        var failure: ArchiveFailure?
    }

    /// When work is due.
    private enum Due {
        /// On the monotonic clock.
        case instant(Int64)
        /// On the wall clock, so that changes of the clock take effect.
        case date(WallTime)
        /// Only after a request.
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

    /// The delay after the first failure. It doubles with each consecutive failure, up to `longestWait`.
    static let firstWait = Duration.seconds(60)
    static let longestWait = Duration.seconds(3600)

    private var entries: [SessionIdentifier: Entry] = [:]
    private var nextOrder = 0
    private var frontOrder = -1

    /// Whether the session is waiting or being worked on.
    func contains(_ session: SessionIdentifier) -> Bool { entries[session] != nil }

    /// The lane in which a session is being worked on; nil if it is waiting.
    func lane(of session: SessionIdentifier) -> ArchiveLane? {
        entries[session].flatMap { $0.isTaken ? $0.lane : nil }
    }

    /// The last failure of a session.
    func failure(of session: SessionIdentifier) -> ArchiveFailure? { entries[session]?.failure }

    /// The number of consecutive failures.
    func failures(of session: SessionIdentifier) -> Int { entries[session]?.failures ?? 0 }

    /// The sessions whose last attempt failed.
    /// - Returns: their number, and the first one by name; nil if there are none.
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

    /// The failed sessions that are retried only after a request, by name.
    func waitingForRequest() -> [SessionIdentifier] {
        entries.filter { $0.value.failure?.retry == .never && !$0.value.isTaken }.keys.sorted()
    }

    /// The sessions that wait for a point in time, by name.
    func waitingForTime() -> [SessionIdentifier] {
        entries.filter { _, entry in
            guard case .date = entry.due else { return false }
            return !entry.isTaken
        }.keys.sorted()
    }

    /// The numbers of sessions waiting and being worked on in a lane.
    func counts(in lane: ArchiveLane) -> (waiting: Int, working: Int) {
        let entries = entries.values.filter { $0.lane == lane }
        let working = entries.count(where: \.isTaken)
        return (entries.count - working, working)
    }

    /// Adds or changes the next work for a session. A session that is being worked on is not changed.
    mutating func note(_ session: SessionIdentifier, _ place: ArchiveStep.Place) {
        var entry = entries[session] ?? Entry(lane: place.lane, order: takeOrder())
        if entry.isTaken { return }
        entry.lane = place.lane
        if entry.failure == nil { entry.due = Self.due(place) }
        entries[session] = entry
    }

    /// Puts a session first and makes it due now, despite earlier failures.
    mutating func hurry(_ session: SessionIdentifier, _ lane: ArchiveLane) {
        let old = entries[session]
        if old?.isTaken == true { return }
        entries[session] = Entry(lane: lane, order: frontOrder, failure: old?.failure)
        frontOrder -= 1
    }

    /// Takes the first session whose work is due.
    /// - Parameter isAllowed: whether a session without a request may be taken.
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

    /// The next time after now at which work becomes due, on the monotonic clock.
    func nextDue(after now: Moment) -> Int64? {
        entries.values.lazy.filter { !$0.isTaken }.compactMap { $0.due.instant(at: now) }.filter { $0 > now.monotonic }
            .min()
    }

    /// Ends the work on a session.
    /// - Parameter place: the next work; nil if there is none.
    mutating func finish(_ session: SessionIdentifier, next place: ArchiveStep.Place?) {
        guard let entry = entries.removeValue(forKey: session), let place else { return }
        entries[session] = Entry(lane: place.lane, order: entry.order, due: Self.due(place))
    }

    /// Postpones a taken session without counting a failure.
    /// - Parameter isLast: whether the session moves to the end of the queue.
    mutating func postpone(_ session: SessionIdentifier, by delay: Duration, isLast: Bool = false, at now: Moment) {
        entries[session]?.isTaken = false
        entries[session]?.due = .instant(now.monotonic.adding(delay.nanoseconds))
        guard isLast else { return }
        let order = takeOrder()
        entries[session]?.order = order
    }

    /// Postpones a session whose work failed, and moves it to the end of the queue.
    /// - Parameter isCounted: whether the failure increases the next delay.
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

    /// The delay after this many consecutive failures.
    static func wait(afterFailures failures: Int) -> Duration {
        // Doubling six times exceeds the longest delay.
        min(longestWait, firstWait * (1 << min(max(failures - 1, 0), 6)))
    }

    private static func due(_ place: ArchiveStep.Place) -> Due { place.date.map { .date($0) } ?? .instant(.min) }

    private mutating func takeOrder() -> Int {
        defer { nextOrder += 1 }
        return nextOrder
    }
}

extension Duration {
    /// In whole nanoseconds, limited to about a century.
    fileprivate var nanoseconds: Int64 { Int64(min(self, .seconds(3_200_000_000)) / .nanoseconds(1)) }
}

extension Int64 {
    /// The sum, clamped to the largest number.
    func adding(_ other: Int64) -> Int64 {
        let (sum, isTooLarge) = addingReportingOverflow(other)
        return isTooLarge ? .max : sum
    }
}
