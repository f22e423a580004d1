import DequeModule
package import Files
import Logging
package import Messages
package import Recording
import ServiceKit

/// Discards sessions: the recorder removes all files of a session, and adds a line to a ledger from which the other programs
/// learn what to remove. The line contains no name.
///
/// Sessions are erased one after the other, until only an empty directory stands for each. The directory is removed once the
/// write-ahead log has none of the session's samples. One checkpoint serves all sessions that wait for it.
extension Recordings {
    /// Most sessions that may wait to be discarded.
    package static let maximumDiscards = 1_000
    /// While more sessions wait to be discarded, a checkpoint begins once this many erased sessions need one.
    private static let maximumErased = 64
    /// Bounds for the interval between searches for expired sessions. The interval is a tenth of the time that sessions are kept.
    private static let searchInterval = (shortest: TimeSpan.seconds(1), longest: TimeSpan.seconds(3_600))

    /// A session that is being discarded.
    package final class Discard {
        enum Stage {
            case waiting
            /// The session is cancelled, and has to end first.
            case ending
            case looking
            case retiring(SessionRecord, uploaded: WallTime?)
            case noting(DiscardedSession, of: SessionRecord)
            case erasing
            /// Waits until the write-ahead log has none of the session's samples.
            case clearing
            case finishing
        }

        /// Nil if only the hash of its name is known, because its removal was interrupted.
        let session: SessionIdentifier?
        let name: PersonalName
        let reason: DiscardedSession.Reason
        var stage = Stage.waiting
        /// The session's line in the ledger, once the line is durable.
        package fileprivate(set) var line: DiscardedSession?
        /// Whether reserved space was freed for the line, because the disk was full.
        fileprivate var hasFreedReserve = false
        /// Whether the session has no files any more; the write-ahead log may still have samples.
        package fileprivate(set) var isErased = false
        /// Nil until the discard has ended.
        package fileprivate(set) var outcome: Result<DiscardedSession?, RequestError>?

        init(_ session: SessionIdentifier?, _ name: PersonalName, _ reason: DiscardedSession.Reason) {
            self.session = session
            self.name = name
            self.reason = reason
        }
    }

    /// A step that the caller carries out to discard a session; see `SessionDisposal`.
    package enum DisposalStep: Sendable {
        case look(SessionIdentifier?, PersonalName)
        case retire(SessionIdentifier)
        case note(DiscardedSession)
        case erase(PersonalName)
        case finish(PersonalName)
        /// Find up to `limit` sessions whose upload was confirmed before a date: `foundExpired`.
        case search(before: WallTime, limit: Int)
    }

    /// A clearing of the write-ahead log.
    struct Clearing {
        let discards: [Discard]
        /// The log is to be deleted up to here; nil until its next segment has begun.
        var position: Int?
        /// Whether the removal that clears the log is under way.
        var isRemoving = false
    }

    /// The sessions to discard, and how far each one is.
    struct Discards {
        /// The first one is being discarded.
        var waiting: Deque<Discard> = []
        /// Sessions of which only the write-ahead log may still have samples.
        var erased: [Discard] = []
        var clearing: Clearing?
        /// When to search for expired sessions next, on the monotonic clock; nil during a search.
        var searchAt: Int64? = 0
    }

    // MARK: Requests

    /// Discards a session.
    /// - Parameter isForced: whether to discard the session even if it is running or its upload was not confirmed.
    package func discard(_ session: SessionIdentifier, isForced: Bool, at now: Moment) throws(RequestError) -> Discard {
        guard starting[session] == nil else {
            throw RequestError(.notOver, "session \(session) is starting: stop or cancel it first")
        }
        if let known = discards.waiting.first(where: { $0.session == session }), known.reason == .forced || !isForced {
            return known
        }
        if let running = sessions[session], !isForced {
            throw RequestError(
                .notOver,
                "session \(session) is \(running.status): stop or cancel it first, or discard it with force")
        }
        guard discards.waiting.count < Self.maximumDiscards else {
            throw RequestError(
                .busy, "\(Self.maximumDiscards) sessions are waiting to be discarded: ask again", retryAfter: 5)
        }
        return add(Discard(session, PersonalName(of: session.text), isForced ? .forced : .requested), at: now)
    }

    /// Finishes discards that were interrupted.
    package func discard(_ unfinished: [PersonalName], at now: Moment) {
        for name in unfinished { _ = add(Discard(nil, name, .requested), at: now) }
    }

    private func add(_ discard: Discard, at now: Moment) -> Discard {
        discards.waiting.append(discard)
        advance(at: now)
        return discard
    }

    // MARK: The session that is discarded

    func advanceDiscards(at now: Moment) {
        searchExpired(at: now)
        while let discard = discards.waiting.first {
            if case .waiting = discard.stage { begin(discard, at: now) }
            if case .ending = discard.stage { lookOnceEnded(discard) }
            // A refused discard makes way for the next.
            if discard.outcome == nil { break }
        }
        advanceClearing()
    }

    private func lookOnceEnded(_ discard: Discard) {
        guard let session = discard.session, sessions[session] == nil, endings[session] == nil else { return }
        // An end that could not be stored is no longer needed.
        if unstored.removeValue(forKey: session) != nil { brokenFiles.remove(session) }
        emit(.forget(session))
        look(discard)
    }

    private func begin(_ discard: Discard, at now: Moment) {
        guard let session = discard.session else { return look(discard) }
        if let running = sessions[session] {
            guard discard.reason == .forced else {
                return refuse(discard, .notOver, "session \(session) is \(running.status): stop or cancel it first")
            }
            discard.stage = .ending
            advance(running, to: .cancelled, at: now)
            unstopped.append(session)
        } else if unstored[session] != nil || endings[session] != nil {
            guard discard.reason == .forced else {
                return refuse(
                    discard, .wouldDelete,
                    "the end of session \(session) could not be stored yet: make room for it, or discard it with force")
            }
            discard.stage = .ending
        } else {
            look(discard)
        }
    }

    private func look(_ discard: Discard) {
        discard.stage = .looking
        emit(.dispose(.look(discard.session, discard.name)))
    }

    /// Takes the state on disk of a session that is to be discarded.
    package func viewed(_ outcome: Result<SessionDisposal.View, RecordingError>, at now: Moment) {
        guard let discard = discards.waiting.first, case .looking = discard.stage else { return }
        switch outcome {
        case .failure(let error): refuse(discard, error)
        case .success(let view): decide(discard, view, at: now)
        }
        advance(at: now)
    }

    private func decide(_ discard: Discard, _ view: SessionDisposal.View, at now: Moment) {
        if let retired = view.retired {
            if view.record != nil {
                // An earlier session of the same name comes first: its removal was interrupted.
                discard.stage = .waiting
                return discards.waiting.prepend(Discard(nil, discard.name, .requested))
            }
            guard view.discarded?.startDate != retired.startDate else {
                discard.line = view.discarded
                return erase(discard)
            }
            return note(discard, retired, uploaded: view.uploaded, at: now)
        }
        if view.isRetired, view.record == nil {
            discard.line = view.discarded
            return erase(discard)
        }
        guard let session = discard.session, let record = view.record else {
            if let line = view.discarded {
                discard.line = line
                return end(discard, .success(line))
            }
            // Somebody removed the leftover of an interrupted discard.
            guard let unknown = discard.session else { return end(discard, .success(nil)) }
            return refuse(
                discard, .unknownSession, "there is no session \(unknown): recording.list lists the existing ones")
        }
        guard record.session == session else {
            return refuse(
                discard, .wouldDelete,
                "recordings/\(session) has the record of session \(record.session), so it is a copy or was renamed: rename it "
                    + "back, or remove the directory yourself if it is a copy")
        }
        guard !view.isLink else {
            return refuse(
                discard, .wouldDelete,
                "the directory of session \(session) is a symbolic link: move the directory that it leads to into the link's "
                    + "place, then discard the session again")
        }
        if let reason = refusal(to: discard, record, view) {
            return end(discard, .failure(reason))
        }
        discard.stage = .retiring(record, uploaded: view.uploaded)
        emit(.dispose(.retire(session)))
    }

    private func refusal(
        to discard: Discard, _ record: SessionRecord, _ view: SessionDisposal.View
    ) -> RequestError? {
        if discard.reason == .forced { return nil }
        let session = record.session
        if view.isSetAside {
            return RequestError(
                .wouldDelete,
                "another machine continued session \(session), and what this one recorded of it was set aside: discard it with "
                    + "force")
        }
        if let shard = record.shard, shard != settings.shard {
            return RequestError(
                .wouldDelete,
                "session \(session) was recorded with shard \(shard), and that recorder may have samples of it: ask it, or "
                    + "discard the session with force")
        }
        guard record.status.isOver else {
            return RequestError(
                .notOver,
                "session \(session) was interrupted (\(record.status)) and could not be continued: discard it with force, "
                    + "or make room and wait for its end")
        }
        if record.status == .cancelled { return nil }
        if view.uploaded != nil {
            if let first = view.unarchived.first {
                let others = view.unarchived.count > 1 ? " and \(view.unarchived.count - 1) more" : ""
                return RequestError(
                    .wouldDelete,
                    "\(first)\(others) could not be archived, so the receiver does not have all of session \(session): "
                        + "copy what you need, then discard the session with force")
            }
            guard view.hasLaterAnnotations else { return nil }
            return RequestError(
                .wouldDelete,
                "session \(session) has annotations that were added after its archive was made, and that the receiver does not have: "
                    + "export the session, then discard it with force")
        }
        return RequestError(
            .wouldDelete,
            "session \(session) is \(record.status), and no receipt confirms its upload: wait for the receipt, or discard "
                + "it with force")
    }

    private func note(_ discard: Discard, _ record: SessionRecord, uploaded: WallTime?, at now: Moment) {
        let line = DiscardedSession(record, uploaded: uploaded, reason: discard.reason, date: now.date)
        discard.stage = .noting(line, of: record)
        emit(.dispose(.note(line)))
    }

    private func erase(_ discard: Discard) {
        discard.stage = .erasing
        emit(.dispose(.erase(discard.name)))
    }

    /// Takes the result of retiring, noting or erasing a session.
    package func disposed(_ failure: RecordingError?, at now: Moment) {
        guard let discard = discards.waiting.first else { return }
        if let failure {
            if failure.code == .noSpace, case .noting(let line, _) = discard.stage, !discard.hasFreedReserve {
                // People discard sessions to make room.
                discard.hasFreedReserve = true
                emit(.release(.samples))
                emit(.dispose(.note(line)))
            } else {
                refuse(discard, failure)
                if discard.hasFreedReserve { emit(.restoreReserves) }
            }
            return advance(at: now)
        }
        switch discard.stage {
        case .retiring(let record, let uploaded):
            note(discard, record, uploaded: uploaded, at: now)
        case .noting(let line, let record):
            discard.line = line
            publishDiscard(of: record, at: now)
            emit(.log(.notice, "session discarded", ["session": "\(record.session)", "reason": "\(line.reason)"]))
            erase(discard)
        case .erasing:
            discard.isErased = true
            // Sessions that failed on the full disk need the room first. If nothing runs, the reserve is restored anyway.
            let isNeeded = !unstored.isEmpty || sessions.values.contains { $0.status == .failed }
            if discard.hasFreedReserve, !isNeeded { emit(.restoreReserves) }
            discard.stage = .clearing
            discards.waiting.removeFirst()
            discards.erased.append(discard)
        case .waiting, .ending, .looking, .clearing, .finishing: return
        }
        advance(at: now)
    }

    private func publishDiscard(of record: SessionRecord, at now: Moment) {
        emit(
            .publish(
                RecordingEvent(
                    source: Program.recorder.rawValue, sequence: 0, session: record.session.text, date: now.date,
                    change: .discard, status: record.status.rawValue, step: "")))
    }

    private func refuse(_ discard: Discard, _ reason: RequestError.Reason, _ message: String) {
        end(discard, .failure(RequestError(reason, message)))
    }

    private func refuse(_ discard: Discard, _ error: RecordingError) {
        emit(.log(.error, "a session could not be discarded", [LogKey.error: "\(error)"]))
        emit(
            .degraded("a session could not be discarded; this is retried at the next start: \(error)", for: "discard")
        )
        refuse(discard, error.code == .noSpace ? .noSpace : .inputOutput, error.description)
    }

    private func end(_ discard: Discard, _ outcome: Result<DiscardedSession?, RequestError>) {
        discard.outcome = outcome
        discards.waiting.removeAll { $0 === discard }
        // A discard that waits for a leftover of the same name would find it and wait again, without end.
        guard case .failure = outcome, discard.session == nil,
            let next = discards.waiting.first, next.name == discard.name
        else { return }
        end(next, outcome)
    }

    // MARK: The write-ahead log

    /// Clears the write-ahead log of sessions of which nothing else is left.
    private func advanceClearing() {
        if discards.clearing == nil, !discards.erased.isEmpty,
            discards.waiting.isEmpty || discards.erased.count >= Self.maximumErased
        {
            discards.clearing = Clearing(discards: discards.erased)
            discards.erased = []
            demandedBlocks = lastBlock
            isStoringDue = true
        }
        beginClearSegment()
        guard let clearing = discards.clearing, let position = clearing.position, !clearing.isRemoving,
            neededLog ?? .max >= position, writtenEnd >= position
        else { return }
        discards.clearing?.isRemoving = true
        removeLog()
    }

    /// Ends the segment of the log that may have samples of a discarded session.
    func beginClearSegment() {
        guard discards.clearing != nil, discards.clearing?.position == nil, appender.count == 0 else { return }
        appender.beginSegment()
        discards.clearing?.position = appender.position
    }

    /// Whether a session's files must be made durable now because the log is to be cleared.
    func isClearing(_ session: Session) -> Bool {
        discards.clearing?.position.map { session.written < $0 } ?? false
    }

    /// Takes the result of a removal of the log.
    /// - Parameter left: bytes left; nil if the removal failed.
    func cleared(_ left: Int?) {
        guard let clearing = discards.clearing, clearing.isRemoving, logRemovals == 0 else { return }
        guard left != nil else {
            emit(
                .degraded(
                    "the write-ahead log could not be deleted, and has samples of sessions that were discarded: this is retried "
                        + "at the next start", for: "discard"))
            for discard in clearing.discards {
                discard.outcome = .failure(
                    RequestError(
                        .inputOutput,
                        "the write-ahead log could not be deleted, and has samples of the session: check the recorder's "
                            + "log, and restart it"))
            }
            discards.clearing = nil
            return
        }
        for discard in clearing.discards {
            discard.stage = .finishing
            emit(.dispose(.finish(discard.name)))
        }
    }

    /// Takes the result of a `finish` step.
    package func finished(_ name: PersonalName, _ failure: RecordingError?, at now: Moment) {
        guard let clearing = discards.clearing else { return }
        for discard in clearing.discards where discard.name == name && discard.outcome == nil {
            if let failure {
                refuse(discard, failure)
            } else {
                discard.outcome = .success(discard.line)
            }
        }
        if clearing.discards.allSatisfy({ $0.outcome != nil }) {
            discards.clearing = nil
            if discards.waiting.isEmpty, discards.erased.isEmpty, failure == nil { emit(.clear("discard")) }
        }
        advance(at: now)
    }

    // MARK: Expired sessions

    private func searchExpired(at now: Moment) {
        guard let keep = settings.keepSessions, let time = discards.searchAt, now.monotonic >= time,
            discards.waiting.isEmpty
        else { return }
        discards.searchAt = nil
        let (date, isBefore1678) = now.date.nanosecondsSince1970.subtractingReportingOverflow(keep)
        emit(
            .dispose(
                .search(
                    before: WallTime(nanosecondsSince1970: isBefore1678 ? .min : date), limit: Self.maximumDiscards)))
    }

    /// Takes the sessions whose upload was confirmed long enough ago.
    package func foundExpired(_ outcome: Result<[SessionIdentifier], RecordingError>, at now: Moment) {
        let interval = min(
            max((settings.keepSessions ?? 0) / 10, Self.searchInterval.shortest.nanoseconds),
            Self.searchInterval.longest.nanoseconds)
        discards.searchAt = now.monotonic + interval
        switch outcome {
        case .success(let expired):
            for session in expired where sessions[session] == nil && unstored[session] == nil {
                discards.waiting.append(Discard(session, PersonalName(of: session.text), .expired))
            }
        case .failure(let error):
            emit(.log(.error, "sessions to discard could not be looked for", [LogKey.error: "\(error)"]))
        }
        advance(at: now)
    }
}
