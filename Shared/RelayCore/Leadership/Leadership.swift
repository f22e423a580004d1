import Logging
package import Messages
import ServiceKit

/// Decides when a machine's recorder runs: only while it holds a lease, which one of several machines can have.
///
/// The lease is a value in a replicated bucket, and each write of it names the revision that it replaces. A holder renews it. A
/// candidate takes it when it has seen the same revision for `LeaseTimes.patience` on its own clock. The holder counts from the
/// moment at which it *sent* the last renewal that was confirmed, which is before any candidate saw that renewal, and its recorder
/// is dead a ninth of the time before a candidate may write. No clock is compared with another one: neither wall clocks nor the
/// servers' clocks matter, only that the clocks of two machines run at rates that differ by less than a ninth.
///
/// All times are those of a clock that continues while the machine sleeps, in nanoseconds. Confined to one thread.
package final class Leadership: ProgramCore {
    /// How the recorder stands.
    private enum Child: Equatable {
        case none
        /// The data directory is being made ready.
        case preparing
        /// The next one is started then: the last one ended by itself.
        case resting(until: Int64)
        case running(since: Int64)
        /// It was told to stop.
        case stopping
    }

    /// A request that is not answered yet. There is one at a time.
    private struct Pending {
        let number: Int
        let sent: Int64
        /// What it writes; nil if it reads.
        let value: LeaseValue?
    }

    /// What this machine holds.
    private struct Term {
        var value: LeaseValue
        var revision: UInt64
        /// When the last renewal that was confirmed was sent.
        var proven: Int64
    }

    /// How long a recorder that ends by itself is not started again.
    private static let rest = TimeSpan.seconds(1).nanoseconds
    /// One that ran this long ended for another reason than the one before it.
    private static let soundRun = TimeSpan.seconds(30).nanoseconds
    /// How many that end sooner have the machine give the lease to another one.
    private static let maximumFailures = 3
    /// How long a recorder may take to stop: it finishes within nine seconds.
    private static let stopLimit = TimeSpan.seconds(20).nanoseconds
    private static let signalInterval = TimeSpan.seconds(5).nanoseconds
    /// How long the machine does not try to get it then.
    private static let standBack = TimeSpan.seconds(60).nanoseconds
    /// How many sessions a lease carries: all of them are written at each renewal.
    package static let maximumSessions = 100

    let times: LeaseTimes
    private let holder: String
    private let instance: String
    /// The term for which the sessions in the data directory are current; nil if it was in none.
    private var localTerm: Int?

    /// What is to be done, in this order.
    package var effects: [Effect] = []

    private var term: Term?
    /// What the bucket has, and since when it is seen: nothing, or a value with its revision. Nil before it was read.
    private var seen: (revision: UInt64?, value: LeaseValue?, since: Int64)?
    private var pending: Pending?
    /// The last write of this run whose answer was lost.
    private var unsure: Pending?
    private var requests = 0
    private var renewals = 0
    private var nextRequest: Int64
    private var child = Child.none
    /// When the next signal is sent to a recorder that is to stop: it may not have listened for the last one yet.
    private var nextSignal = Int64.max
    /// When it is killed instead.
    private var stopDeadline = Int64.max
    private var failures = 0
    private var candidateFrom: Int64
    private var isStopping = false
    /// Whether the servers did not answer the last request.
    private var isAway = false
    /// Whether the lease is given away as soon as the request under way is answered.
    private var isReleaseDue = false
    /// The sessions of this term of which no recorder has said yet whether it continues them.
    private var left: Set<String> = []
    /// The sessions of this term that are being continued.
    private(set) var continuing: Set<String> = []
    /// The sessions whose plans the recorder is asked for; true if something happened to one since then.
    var asking: [String: Bool] = [:]
    /// Sessions whose plans the recorder did not give: they are asked for again at their next event.
    var unplanned: Set<String> = []
    /// Whether `term.value.sessions` was changed and not written.
    private var isChanged = false
    /// How often this machine took the lease since the program started, and how often it lost it while it held it.
    package private(set) var taken = 0
    package private(set) var lost = 0
    /// Whether nothing more will happen: the program was told to stop, and its recorder has ended.
    package private(set) var isOver = false

    /// - Parameters:
    ///   - holder: this machine, for people.
    ///   - instance: this run of the program: no other one has had it.
    ///   - localTerm: what `prepare` noted last in the data directory.
    package init(_ times: LeaseTimes, holder: String, instance: String, localTerm: Int?, at now: Int64) {
        self.times = times
        self.holder = holder
        self.instance = instance
        self.localTerm = localTerm
        nextRequest = now
        candidateFrom = now
    }

    /// Whether this machine holds the lease, to its knowledge.
    package var isLeading: Bool { term != nil }
    /// The term that it holds.
    package var leadingTerm: Int? { term?.value.term }
    /// Whether the servers answered the last request.
    package var isConnected: Bool { !isAway && seen != nil }
    /// The latest known term, held by this machine or another; nil if the lease was never taken.
    package var lastTerm: Int? { leadingTerm ?? seen?.value?.term }
    /// When the lease was last renewed, as far as this machine knows, in the core's time; nil before the lease was read.
    package var renewedAt: Int64? { term?.proven ?? seen?.since }
    /// The sessions that run under this machine's lease.
    package var sessions: [SessionPlan] { term?.value.sessions ?? [] }
    /// Whether there is a recorder, or will be in a moment.
    package var hasRecorder: Bool { child != .none }
    /// Whether the recorder was started and not told to stop.
    package var isRecording: Bool { if case .running = child { true } else { false } }

    // MARK: Time

    /// How long the machine slept since it was switched on: what its monotonic clock left out.
    package var slept: Int64 = 0

    package var nextDeadline: Int64 { nextTime == .max ? .max : nextTime.subtractingClamped(slept) }

    package func wake(at now: Moment) { wake(at: now.monotonic + slept) }

    /// When something is due.
    package var nextTime: Int64 {
        if isOver || isStopping && term == nil { return .max }
        var next: Int64 = .max
        if child == .stopping { next = nextSignal }
        if pending == nil { next = min(next, isChanged && term != nil ? .min : nextRequest) }
        if let term {
            next = min(next, term.proven + (isRecording ? times.stop : times.life))
            if case .resting(let until) = child { next = min(next, until) }
        } else if pending == nil, let due = takeOverTime {
            next = min(next, due)
        }
        return next
    }

    /// Does what is due.
    package func wake(at now: Int64) {
        guard !isOver else { return }
        checkLease(at: now)
        if child == .stopping, now >= nextSignal {
            nextSignal = now + Self.signalInterval
            emit(now >= stopDeadline ? .kill : .terminate)
        }
        if case .resting(let until) = child, now >= until { startChild(at: now) }
        send(at: now)
    }

    /// Ends the recorder before anybody else may have the lease.
    private func checkLease(at now: Int64) {
        guard let term else { return }
        if now >= term.proven + times.life {
            lose("the lease could not be renewed in time", at: now)
        } else if now >= term.proven + times.stop, isRecording {
            emit(.log(.warning, "the lease is not renewed: stopping the recorder", [:]))
            stopChild(at: now)
        }
    }

    /// The lease is another's, or may be soon.
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

    /// When the lease may be taken; nil if it may not.
    private var takeOverTime: Int64? {
        guard let seen, child == .none, unsure == nil, !isStopping else { return nil }
        // This run's own recorder is known to have ended.
        let isFree = seen.value?.isReleased == true || seen.value?.instance == instance
        return max(candidateFrom, isFree ? seen.since : seen.since + times.patience)
    }

    private func send(at now: Int64) {
        guard pending == nil else { return }
        if unsure != nil, term == nil {
            // A write whose answer was lost may have come to be: then the revision that was seen is not the last one any more.
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
        guard var value = term?.value, let revision = term?.revision else { return }
        if unsure != nil { return read(at: now) }
        renewals += 1
        value.renewal = renewals
        isChanged = false
        nextRequest = now + times.renewal
        write(value, revision: revision, at: now)
    }

    private func take(at now: Int64) {
        let old = seen?.value
        renewals += 1
        let value = LeaseValue(
            holder: holder, instance: instance, term: (old?.term ?? 0) + 1, previous: old?.term, renewal: renewals,
            sessions: old?.sessions ?? [])
        write(value, revision: seen?.revision, at: now)
    }

    /// Takes the answer to a request. One that comes too late, because its request was given up, changes nothing.
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
            // Whoever leads has little time; whoever does not has enough.
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

    /// Does what waited for an answer.
    private func settle(at now: Int64) {
        if isReleaseDue, pending == nil {
            isReleaseDue = false
            release(at: now)
        }
        endIfIdle()
        wake(at: now)
    }

    private func take(_ value: LeaseValue, _ revision: UInt64, at now: Int64) {
        if seen?.revision != revision {
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
        if seen == nil || seen?.revision != revision { seen = (revision, nil, now) }
        unsure = nil
        if term != nil { lose("somebody deleted it", at: now) }
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
        // One that came so late that others may have taken it meanwhile is no lease; the next try begins from it.
        guard now < sent + times.stop, !isStopping else { return }
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
        // One that ends gets the time for that which the lease has.
        case .running, .stopping: emit(.extend(until: sent + times.life))
        case .none where !isStopping && !isReleaseDue: startChild(at: now)
        case .none, .preparing, .resting: break
        }
    }

    // MARK: The recorder

    /// The data directory is ready for a term.
    /// - Parameter failure: why it is not.
    package func prepared(_ prepared: Int, failure: String?, at now: Int64) {
        if failure == nil { localTerm = prepared }
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
        // Later, the next renewal that is confirmed starts it.
        guard let term, !isStopping, now < term.proven + times.stop else {
            child = .none
            return
        }
        child = .running(since: now)
        emit(.start(until: term.proven + times.life))
        for plan in term.value.sessions where left.contains(plan.session) { continueSession(plan) }
    }

    private func stopChild(at now: Int64) {
        guard isRecording else { return }
        child = .stopping
        (nextSignal, stopDeadline) = (now + Self.signalInterval, now + Self.stopLimit)
        emit(.terminate)
    }

    /// The recorder has ended.
    /// - Parameter reason: for people: `exited with 78`.
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
            // A lease that was renewed after all.
            if let term, now < term.proven + times.stop { startChild(at: now) }
        case .none, .preparing, .resting: break
        }
        endIfIdle()
        wake(at: now)
    }

    /// Lets another machine try.
    private func giveUp(_ reason: String, at now: Int64) {
        emit(.degraded("gave up the lease for a minute: \(reason)", for: "lease"))
        candidateFrom = now + Self.standBack
        release(at: now)
    }

    // MARK: Sessions

    /// Notes what another recorder needs to continue a session that runs.
    package func note(_ plan: SessionPlan, at now: Int64) {
        guard var sessions = term?.value.sessions else { return }
        if let index = sessions.firstIndex(where: { $0.session == plan.session }) {
            guard sessions[index] != plan else { return }
            sessions[index] = plan
        } else {
            guard sessions.count < Self.maximumSessions else {
                return emit(
                    .degraded(
                        "the lease carries at most \(Self.maximumSessions) sessions: \(plan.session) would not be continued",
                        for: "sessions"))
            }
            sessions.append(plan)
        }
        term?.value.sessions = sessions
        isChanged = true
    }

    /// Whether a session is noted.
    package func knows(_ session: String) -> Bool { sessions.contains { $0.session == session } }

    /// Notes that a session is over.
    package func noteEnd(of session: String, at now: Int64) {
        guard knows(session) else { return }
        term?.value.sessions.removeAll { $0.session == session }
        isChanged = true
    }

    private func continueSession(_ plan: SessionPlan) {
        guard let term, continuing.insert(plan.session).inserted else { return }
        emit(.continue(SessionContinuation(plan: plan, term: term.value.term)))
    }

    /// The recorder answered whether it continues a session.
    package func continued(
        _ continuation: SessionContinuation, _ outcome: SessionContinuation.Outcome, at now: Int64
    ) {
        guard term?.value.term == continuation.term else { return }
        continuing.remove(continuation.plan.session)
        if outcome != .unanswered { left.remove(continuation.plan.session) }
        switch outcome {
        case .running:
            emit(.log(.notice, "the session is continued", ["session": "\(continuation.plan.session)"]))
            ask(for: continuation.plan.session)
        case .over: noteEnd(of: continuation.plan.session, at: now)
        case .refused(let reason):
            emit(
                .log(
                    .error, "a session can't be continued",
                    ["session": "\(continuation.plan.session)", LogKey.error: "\(reason)"]))
            emit(
                .degraded("session \(continuation.plan.session) can't be continued: \(reason)", for: "sessions"))
            noteEnd(of: continuation.plan.session, at: now)
        // Without a recorder, the next one that is started is asked.
        case .unanswered: if isRecording { continueSession(continuation.plan) }
        }
        wake(at: now)
    }

    // MARK: The end

    /// The program is about to end: the recorder is stopped first, then the lease is given away.
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

    /// Gives the lease away, once no recorder runs under it.
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
        // If the answer to a renewal was lost, the revision is not known: then others wait their time.
        guard unsure == nil else { return endIfIdle() }
        write(value, revision: held.revision, at: now)
    }

    private func forgetRequests() {
        left = []
        continuing = []
        asking = [:]
        unplanned = []
    }

    private func endIfIdle() {
        if isStopping, child == .none, term == nil, pending?.value?.isReleased != true { isOver = true }
    }
}
