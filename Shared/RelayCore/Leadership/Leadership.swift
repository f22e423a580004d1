import Logging
package import Messages
import ServiceKit

/// Decides when a machine's recorder runs: only while the machine holds a lease. At most one of several machines can hold it.
///
/// The lease is a value in a replicated bucket. Each write names the revision that it replaces. The holder renews the lease; a
/// candidate takes it after seeing the same revision for `LeaseTimes.patience` on its own clock. The holder counts from the
/// moment it *sent* the last confirmed renewal, which is before any candidate saw that renewal. Its recorder is dead a ninth of
/// `patience` before a candidate may write. Clocks are never compared, neither wall clocks nor the servers' clocks. The only
/// requirement is that the clock rates of two machines differ by less than a ninth.
///
/// All times are in nanoseconds on a clock that continues while the machine sleeps. Confined to one thread.
package final class Leadership: ProgramCore {
    /// The state of the recorder process.
    private enum Child: Equatable {
        case none
        case preparing
        /// The last recorder ended by itself. The next one is started at `until`.
        case resting(until: Int64)
        case running(since: Int64)
        /// The recorder was told to stop.
        case stopping
    }

    /// A request that has not been answered yet. At most one is pending.
    private struct Pending {
        let number: Int
        let sent: Int64
        /// The value to write; nil for a read.
        let value: LeaseValue?
    }

    /// The lease as this machine holds it.
    private struct Term {
        var value: LeaseValue
        /// Nil if the bucket lost the lease; the next write creates it again.
        var revision: UInt64?
        /// When the last confirmed renewal was sent.
        var proven: Int64
    }

    /// The pause before a recorder that ended by itself is started again.
    private static let rest = TimeSpan.seconds(1).nanoseconds
    /// A recorder that ran at least this long does not count as a repeated failure.
    private static let soundRun = TimeSpan.seconds(30).nanoseconds
    /// After this many short runs in a row the machine gives up the lease.
    private static let maximumFailures = 3
    /// The time a recorder gets to stop before SIGKILL. It normally finishes within nine seconds.
    private static let stopLimit = TimeSpan.seconds(20).nanoseconds
    private static let signalInterval = TimeSpan.seconds(5).nanoseconds
    /// How long the machine does not try to take the lease after giving it up.
    private static let standBack = TimeSpan.seconds(60).nanoseconds
    /// The maximum number of sessions in a lease: each renewal writes all of them.
    package static let maximumSessions = 100
    /// The maximum size of all sessions as JSON, in bytes: servers refuse a value above `maximumSize`, and so the renewal.
    private static let maximumSessionsSize = maximumSize - 50_000
    /// The maximum size of a lease, in bytes: NATS refuses messages above 1 MB by default.
    package static let maximumSize = 900_000
    /// Start times are rounded on the wire. Times that differ by more than this belong to different sessions. In seconds.
    private static let startTolerance = 0.001
    /// The interval at which the recorder is asked again to continue a session that it could not continue.
    private static let retryInterval = TimeSpan.seconds(10).nanoseconds

    let times: LeaseTimes
    private let holder: String
    private let instance: String
    /// The term for which the sessions in the data directory are current; nil if there was no term.
    private var localTerm: Int?
    /// The last term for which this run prepared the data directory; nil if it prepared none.
    private var preparedTerm: Int?

    /// Pending work, in the order in which it must be done.
    package var effects: [Effect] = []

    private var term: Term?
    /// The bucket's last known content (no value, or a value with its revision) and when it was first seen. Nil before the first
    /// read.
    private var seen: (revision: UInt64?, value: LeaseValue?, since: Int64)?
    /// The lease that the bucket had when the servers last lost it.
    private var lostValue: LeaseValue?
    private var pending: Pending?
    /// The last write of this run whose reply was lost.
    private var unsure: Pending?
    private var requests = 0
    private var renewals = 0
    private var nextRequest: Int64
    private var child = Child.none
    /// When the next signal is sent to a recorder that must stop: it may not have handled signals yet when the last one arrived.
    private var nextSignal = Int64.max
    /// When a stopping recorder is killed.
    private var stopDeadline = Int64.max
    private var failures = 0
    private var candidateFrom: Int64
    private var isStopping = false
    /// Whether the last request remained without a reply.
    private var isAway = false
    /// Whether the lease is released as soon as the pending request is answered.
    private var isReleaseDue = false
    /// Sessions of this term that no recorder has continued or finally refused.
    var left: Set<String> = []
    /// Sessions in `left` that wait for a person: the recorder has an older session of the same name, which is over.
    private(set) var older: Set<String> = []
    /// When the recorder is asked again to continue the other sessions in `left`, if it could not continue them.
    private var retryAt = Int64.max
    private(set) var continuing: Set<String> = []
    /// Sessions whose plans are requested from the recorder. The value is true if the session has changed since the request.
    var asking: [String: Bool] = [:]
    /// Sessions whose plans the recorder did not send. Their next event triggers another request.
    var unplanned: Set<String> = []
    /// The problems of sessions in health: another machine could not continue them as they are, or this one cannot.
    private var reported: [String: String] = [:]
    /// Whether `term.value.sessions` has changes that are not written yet.
    private var isChanged = false
    /// How often this machine has taken the lease since the program started, and how often it has lost it while holding it.
    package private(set) var taken = 0
    package private(set) var lost = 0
    /// Whether the program was told to stop and its recorder has ended. Nothing more will happen.
    package private(set) var isOver = false

    /// - Parameters:
    ///   - holder: the machine's name, for display.
    ///   - instance: identifies this run of the program; never reused.
    ///   - localTerm: the last term that `prepare` noted in the data directory.
    package init(_ times: LeaseTimes, holder: String, instance: String, localTerm: Int?, at now: Int64) {
        self.times = times
        self.holder = holder
        self.instance = instance
        self.localTerm = localTerm
        nextRequest = now
        candidateFrom = now
    }

    /// Whether this machine holds the lease, by the last answer that it received.
    package var isLeading: Bool { term != nil }
    package var leadingTerm: Int? { term?.value.term }
    /// Whether the servers answered the last request.
    package var isConnected: Bool { !isAway && seen != nil }
    /// The latest known term, held by this machine or another; nil if the lease was never taken.
    package var lastTerm: Int? { leadingTerm ?? seen?.value?.term }
    /// When the lease was last renewed, as far as this machine knows, on the core's clock; nil before the first read.
    package var renewedAt: Int64? { term?.proven ?? seen?.since }
    /// The sessions that run under this machine's lease.
    package var sessions: [SessionPlan] { term?.value.sessions ?? [] }
    /// Whether a recorder exists or is about to be started.
    package var hasRecorder: Bool { child != .none }
    /// Whether the recorder was started and has not been told to stop.
    package var isRecording: Bool { if case .running = child { true } else { false } }

    // MARK: Time

    /// How long the machine has slept since boot: the monotonic clock does not count that time.
    package var slept: Int64 = 0

    package var nextDeadline: Int64 { nextTime == .max ? .max : nextTime.subtractingClamped(slept) }

    package func wake(at now: Moment) { wake(at: now.monotonic + slept) }

    /// When the next action is due.
    package var nextTime: Int64 {
        if isOver || isStopping && term == nil { return .max }
        var next: Int64 = .max
        if child == .stopping { next = nextSignal }
        if pending == nil { next = min(next, isChanged && term != nil ? .min : nextRequest) }
        if let term {
            next = min(next, term.proven + (isRecording ? times.stop : times.life))
            if case .resting(let until) = child { next = min(next, until) }
            if isRecording { next = min(next, retryAt) }
        } else if pending == nil, let due = takeOverTime {
            next = min(next, due)
        }
        return next
    }

    package func wake(at now: Int64) {
        guard !isOver else { return }
        checkLease(at: now)
        if child == .stopping, now >= nextSignal {
            nextSignal = now + Self.signalInterval
            emit(now >= stopDeadline ? .kill : .terminate)
        }
        if case .resting(let until) = child, now >= until { startChild(at: now) }
        if isRecording, now >= retryAt { continueSessions(left.subtracting(older)) }
        send(at: now)
    }

    /// Ends the recorder before another machine may take the lease.
    private func checkLease(at now: Int64) {
        guard let term else { return }
        if now >= term.proven + times.life {
            lose("the lease could not be renewed in time", at: now)
        } else if now >= term.proven + times.stop, isRecording {
            emit(.log(.warning, "the lease is not renewed: stopping the recorder", [:]))
            stopChild(at: now)
        }
    }

    /// Handles the loss of the lease: another machine has it, or may have it soon.
    private func lose(_ reason: String, at now: Int64) {
        term = nil
        lost += 1
        isChanged = false
        isReleaseDue = false
        forgetRequests()
        emit(.log(.error, "lost the lease", [LogKey.error: "\(reason)"]))
        emit(.degraded("lost the lease: \(reason)", for: "lease"))
        switch child {
        case .running, .stopping:
            emit(.kill)
            child = .stopping
        case .resting: child = .none
        case .none, .preparing: break
        }
        nextRequest = now
        endIfIdle()
    }

    // MARK: Requests

    /// When this machine may take the lease; nil if it may not.
    private var takeOverTime: Int64? {
        guard let seen, child == .none, unsure == nil, !isStopping else { return nil }
        // A lease of this run is free at once: its own recorder is known to have ended.
        let isFree = seen.value?.isReleased == true || seen.value?.instance == instance
        return max(candidateFrom, isFree ? seen.since : seen.since + times.patience)
    }

    private func send(at now: Int64) {
        guard pending == nil else { return }
        if unsure != nil, term == nil {
            // A write without a reply may still have taken effect, so the revision seen last may be out of date.
            if now >= nextRequest, !isStopping { read(at: now) }
        } else if term != nil {
            if now >= nextRequest || isChanged { renew(at: now) }
        } else if let due = takeOverTime, now >= due {
            take(at: now)
        } else if now >= nextRequest, !isStopping {
            read(at: now)
        }
    }

    private func read(at now: Int64) {
        requests += 1
        pending = Pending(number: requests, sent: now, value: nil)
        nextRequest = now + times.look
        emit(.read(requests))
    }

    private func write(_ value: LeaseValue, revision: UInt64?, at now: Int64) {
        requests += 1
        pending = Pending(number: requests, sent: now, value: value)
        emit(.write(value, revision: revision, requests))
    }

    private func renew(at now: Int64) {
        guard let term else { return }
        if unsure != nil { return read(at: now) }
        var value = term.value
        renewals += 1
        value.renewal = renewals
        isChanged = false
        nextRequest = now + times.renewal
        write(value, revision: term.revision, at: now)
    }

    private func take(at now: Int64) {
        let old = seen?.value ?? lostValue
        // The reply was lost when this run took the lease, so no recorder ran in that term.
        let isUnused = old?.instance == instance && old?.term != preparedTerm
        renewals += 1
        // If the servers lost the lease, its terms are not used again: the data directories still name them.
        let last = max(old?.term ?? 0, localTerm ?? 0)
        let value = LeaseValue(
            holder: holder, instance: instance, term: last + 1, previous: isUnused ? old?.previous : old?.term,
            renewal: renewals, sessions: old?.sessions ?? [])
        write(value, revision: seen?.revision, at: now)
    }

    /// Takes the reply to a request. A reply to a request that was given up is ignored.
    package func answered(_ answer: Answer, to number: Int, at now: Int64) {
        guard let request = pending, request.number == number else { return }
        pending = nil
        checkLease(at: now)
        switch answer {
        case .value(let value, let revision): take(value, revision, at: now)
        case .absent(let revision): takeAbsence(revision, at: now)
        case .stored(let revision):
            if let value = request.value { stored(value, revision, sent: request.sent, at: now) }
        case .conflict:
            unsure = request
            nextRequest = now
        case .unknown(let reason):
            if request.value != nil { unsure = request }
            // The holder has little time to renew; a candidate can wait.
            nextRequest = now + (term == nil ? times.look : times.look / 4)
            if !isAway { emit(.log(.warning, "the lease's servers do not answer", [LogKey.error: "\(reason)"])) }
            isAway = true
            emit(.degraded("the lease's servers do not answer: \(reason)", for: "servers"))
            return settle(at: now)
        }
        isAway = false
        emit(.clear("servers"))
        settle(at: now)
    }

    /// Resumes work that waited for a reply.
    private func settle(at now: Int64) {
        if isReleaseDue, pending == nil {
            isReleaseDue = false
            release(at: now)
        }
        endIfIdle()
        wake(at: now)
    }

    private func take(_ value: LeaseValue, _ revision: UInt64, at now: Int64) {
        // In a recreated bucket, a different write may have the same revision.
        let isSame = seen?.value?.instance == value.instance && seen?.value?.renewal == value.renewal
        if seen?.revision != revision || !isSame {
            if seen?.value?.instance != value.instance, value.instance != instance {
                emit(.log(.notice, "waits for the lease", ["holder": "\(value.holder)", "term": "\(value.term)"]))
            }
            seen = (revision, value, now)
        }
        let lost = unsure
        unsure = nil
        guard term != nil else { return }
        guard value.instance == instance, value.term == term?.value.term else {
            return lose("\(value.holder) has it", at: now)
        }
        term?.revision = revision
        if let lost, lost.value?.renewal == value.renewal { prove(sent: lost.sent, at: now) }
        nextRequest = min(nextRequest, now)
    }

    private func takeAbsence(_ revision: UInt64?, at now: Int64) {
        if let value = seen?.value { lostValue = value }
        if seen == nil || seen?.revision != revision || seen?.value != nil { seen = (revision, nil, now) }
        unsure = nil
        guard term != nil else { return }
        // The bucket lost the lease after the last confirmed renewal, so this machine's time ends before a candidate's patience
        // does.
        emit(.log(.warning, "the servers lost the lease: writes it again", [:]))
        term?.revision = revision
        nextRequest = min(nextRequest, now)
    }

    private func stored(_ value: LeaseValue, _ revision: UInt64, sent: Int64, at now: Int64) {
        unsure = nil
        seen = (revision, value, now)
        if value.isReleased == true {
            term = nil
            return endIfIdle()
        }
        if term?.value.term == value.term {
            term?.revision = revision
            return prove(sent: sent, at: now)
        }
        // If the confirmation is so late that another machine may have taken the lease, the lease does not count. Neither does a
        // late answer to a renewal: the recorder of the lost term may still live. The next attempt starts from this value.
        guard now < sent + times.stop, !isStopping, child == .none, value.term != preparedTerm else { return }
        var value = value
        value.sessions = Array(value.sessions.prefix(Self.maximumSessions))
        term = Term(value: value, revision: revision, proven: sent)
        taken += 1
        nextRequest = sent + times.renewal
        emit(
            .log(
                .notice, "took the lease",
                ["term": "\(value.term)", "sessions": "\(value.sessions.map(\.session).joined(separator: ", "))"]))
        emit(.clear("lease"))
        child = .preparing
        let isCurrent = value.previous == nil || localTerm == value.previous
        emit(.prepare(term: value.term, setsAside: !isCurrent))
    }

    private func prove(sent: Int64, at now: Int64) {
        guard let proven = term?.proven, sent > proven else { return }
        term?.proven = sent
        switch child {
        // A recorder that is stopping may use the lease's remaining time.
        case .running, .stopping: emit(.extend(until: sent + times.life))
        case .none where !isStopping && !isReleaseDue: startChild(at: now)
        case .none, .preparing, .resting: break
        }
    }

    // MARK: The recorder

    /// Takes the result of preparing the data directory for a term.
    /// - Parameter failure: why the directory cannot be used; nil on success.
    package func prepared(_ prepared: Int, failure: String?, at now: Int64) {
        if failure == nil { (localTerm, preparedTerm) = (prepared, prepared) }
        guard child == .preparing else { return }
        child = .none
        guard let term, term.value.term == prepared else { return endIfIdle() }
        if isStopping { return release(at: now) }
        if let failure {
            emit(.log(.error, "the data directory can't be used", [LogKey.error: "\(failure)"]))
            return giveUp("the data directory can't be used: \(failure)", at: now)
        }
        left = Set(term.value.sessions.map(\.session))
        startChild(at: now)
    }

    private func startChild(at now: Int64) {
        // If it is too late, the next confirmed renewal starts the recorder.
        guard let term, !isStopping, now < term.proven + times.stop else {
            child = .none
            return
        }
        child = .running(since: now)
        emit(.start(until: term.proven + times.life))
        continueSessions(left)
    }

    private func stopChild(at now: Int64) {
        guard isRecording else { return }
        child = .stopping
        (nextSignal, stopDeadline) = (now + Self.signalInterval, now + Self.stopLimit)
        emit(.terminate)
    }

    /// - Parameter reason: for display, such as `exited with 78`.
    package func ended(_ reason: String, at now: Int64) {
        let previous = child
        child = .none
        switch previous {
        case .running(let since):
            emit(.log(.error, "the recorder ended", [LogKey.error: "\(reason)"]))
            failures = now - since < Self.soundRun ? failures + 1 : 1
            if term != nil, failures >= Self.maximumFailures {
                failures = 0
                giveUp("the recorder ends again and again: \(reason)", at: now)
            } else if term != nil {
                child = .resting(until: now + Self.rest)
            }
        case .stopping where isStopping: release(at: now)
        case .stopping:
            // The lease was renewed after all.
            if let term, now < term.proven + times.stop { startChild(at: now) }
        case .none, .preparing, .resting: break
        }
        endIfIdle()
        wake(at: now)
    }

    /// Releases the lease, so that another machine can try.
    private func giveUp(_ reason: String, at now: Int64) {
        emit(.degraded("gave up the lease for a minute: \(reason)", for: "lease"))
        candidateFrom = now + Self.standBack
        release(at: now)
    }

    // MARK: Sessions

    /// Notes the plan that another recorder needs to continue a running session.
    package func note(_ plan: SessionPlan, at now: Int64) {
        guard var sessions = term?.value.sessions else { return }
        let index = sessions.firstIndex { $0.session == plan.session }
        if let index {
            guard sessions[index] != plan else { return clearReport(of: plan.session) }
            sessions[index] = plan
        } else {
            guard sessions.count < Self.maximumSessions else {
                return report(
                    plan.session, "would not be continued: a lease carries at most \(Self.maximumSessions) sessions")
            }
            sessions.append(plan)
        }
        guard let size = try? WireCoding.encode(sessions).count, size <= Self.maximumSessionsSize else {
            let loss = index == nil ? "would not be continued" : "would be continued without its last changes"
            return report(
                plan.session, "\(loss): a lease carries at most \(Self.maximumSessionsSize) bytes of sessions")
        }
        clearReport(of: plan.session)
        term?.value.sessions = sessions
        isChanged = true
    }

    private func report(_ session: String, _ problem: String) {
        reported[session] = problem
        emit(.degraded("session \(session) \(problem)", for: "session \(session)"))
    }

    private func clearReport(of session: String) {
        if reported.removeValue(forKey: session) != nil { emit(.clear("session \(session)")) }
    }

    package func knows(_ session: String) -> Bool { sessions.contains { $0.session == session } }

    /// Removes a session that has ended from the lease.
    package func noteEnd(of session: String, at now: Int64) {
        clearReport(of: session)
        guard knows(session) else { return }
        term?.value.sessions.removeAll { $0.session == session }
        isChanged = true
    }

    private func continueSessions(_ names: Set<String>) {
        retryAt = .max
        for plan in sessions where names.contains(plan.session) { continueSession(plan) }
    }

    private func continueSession(_ plan: SessionPlan) {
        guard let term, continuing.insert(plan.session).inserted else { return }
        emit(.continue(SessionContinuation(plan: plan, term: term.value.term)))
    }

    /// Takes the recorder's reply to a request to continue a session.
    package func continued(
        _ continuation: SessionContinuation, _ outcome: SessionContinuation.Outcome, at now: Int64
    ) {
        guard term?.value.term == continuation.term else { return }
        let session = continuation.plan.session
        continuing.remove(session)
        // The session ended, or was discarded, in the meantime.
        guard left.contains(session) || outcome == .running else { return wake(at: now) }
        switch outcome {
        case .running:
            left.remove(session)
            clearReport(of: session)
            emit(.log(.notice, "the session is continued", ["session": "\(session)"]))
            ask(for: session)
        case .over(let startDates):
            if !startDates.isEmpty, let from = continuation.plan.start.from,
                startDates.allSatisfy({ abs($0.seconds(since: from)) > Self.startTolerance })
            {
                older.insert(session)
                reportRefusal(
                    of: session,
                    "this machine has an older session of this name, which is over: discard it, and restart relay lead")
            } else {
                left.remove(session)
                noteEnd(of: session, at: now)
            }
        case .failed(let reason) where isRecording:
            older.remove(session)
            retryAt = min(retryAt, now + Self.retryInterval)
            reportRefusal(of: session, reason)
        case .refused(let reason) where isRecording:
            left.remove(session)
            noteEnd(of: session, at: now)
            reportRefusal(of: session, reason)
        // A recorder that was told to stop refuses everything. Its successor is asked instead.
        case .failed, .refused, .unanswered: if isRecording { continueSession(continuation.plan) }
        }
        wake(at: now)
    }

    private func reportRefusal(of session: String, _ reason: String) {
        let problem = "can't be continued: \(reason)"
        if reported[session] != problem {
            emit(.log(.error, "a session can't be continued", ["session": "\(session)", LogKey.error: "\(reason)"]))
        }
        report(session, problem)
    }

    // MARK: The end

    /// Begins to stop the program: stops the recorder first, then releases the lease.
    package func stop(at now: Int64) {
        guard !isStopping else { return }
        isStopping = true
        switch child {
        case .running: stopChild(at: now)
        case .none, .resting:
            child = .none
            release(at: now)
        case .stopping, .preparing: break
        }
        endIfIdle()
    }

    /// Releases the lease when no recorder runs under it.
    private func release(at now: Int64) {
        guard let held = term else { return endIfIdle() }
        guard pending == nil else {
            isReleaseDue = true
            return
        }
        term = nil
        isChanged = false
        forgetRequests()
        var value = held.value
        renewals += 1
        value.renewal = renewals
        value.isReleased = true
        nextRequest = now
        // If the reply to a renewal was lost, the revision is unknown. Other machines then wait for their full patience.
        guard unsure == nil else { return endIfIdle() }
        write(value, revision: held.revision, at: now)
    }

    private func forgetRequests() {
        left = []
        older = []
        retryAt = .max
        continuing = []
        asking = [:]
        unplanned = []
        for session in reported.keys { clearReport(of: session) }
    }

    private func endIfIdle() {
        if isStopping, child == .none, term == nil, pending?.value?.isReleased != true { isOver = true }
    }
}
