import DequeModule
package import Files
import Logging
import MessageBus
package import Messages
package import Recording
import ServiceKit

/// How sessions end: on request, after their duration, with the program, or because something failed.
extension Recordings {
    /// How long samples published before a stop may be in transit before a replay is requested.
    private static let travelTime = TimeSpan.milliseconds(300)
    /// How long sessions wait for their publishers when the program ends: less than `ServiceRunner.drainLimit`, so that their
    /// files are finished within it.
    private static let lastWait = TimeSpan.seconds(3)
    /// How long a stopped session waits for samples in total: as long as publishers keep samples by default. Otherwise, a hostile
    /// publisher could announce any number of samples and deliver them one at a time.
    private static let settlingLimit = TimeSpan.seconds(600)
    /// How long a stopped session waits for the next samples while publishers answer but can't deliver them yet, such as a
    /// relay whose servers have no leader, or deliver them slowly.
    private static let longestDelay = TimeSpan.seconds(60)
    /// Most sessions that are kept in memory because their end could not be stored.
    private static let maximumUnstored = 64

    /// The stage of a session that is being ended.
    enum Ending {
        /// Publishers are asked for the positions of the session's streams.
        case asking
        /// Samples published before the stop are awaited, or replayed if they are missing.
        case settling(Settling)
        /// The publishers' clocks are compared for the last time.
        case comparing(Settling)
        /// Waits until everything up to a block is in files.
        case closing(block: Int)
        /// The session's files are rebuilt from the write-ahead log.
        case rebuilding(isSecond: Bool)
        /// The session's end is being stored, with this report.
        case concluding(SessionReport, isSecond: Bool)
    }

    struct Settling {
        /// When this round of waiting ends, and when all waiting ends, on the monotonic clock.
        var deadline: Int64
        let limit: Int64
        /// When waiting ends if publishers only delay their samples.
        var delayLimit: Int64
        /// Streams that may still miss samples. Each arriving batch checks them, so only the last one is examined until it is
        /// complete.
        var rest: ArraySlice<StreamRecording>
        /// Whether missing samples were requested.
        var isAsked = false
        /// Whether the publishers' clocks were compared for the last time.
        var isCompared = false
        /// Whether a publisher has asked for a later retry since the last request, or a part of its reply has arrived.
        var isPutOff = false
        /// The number of settled samples at the last request.
        var settled = -1

        /// Notes that samples, or a part of them, arrived.
        mutating func extendDelay(at now: Moment) { delayLimit = now.monotonic + Recordings.longestDelay.nanoseconds }
    }

    // MARK: Stopping

    /// Stops every session because the program is about to end. Waits for publishers for `lastWait` at most.
    package func stopAll(at now: Moment) {
        shutdownDeadline = now.monotonic + Self.lastWait.nanoseconds
        isStoppingAll = true
        unstopped.append(contentsOf: sessions.keys)
        advance(at: now)
    }

    /// Commits the data taken so far because the program is about to end. Sessions that are not being ended, or that only wait for
    /// results, stay open: the next recorder finds them as after a kill, and requests from the publishers the samples published
    /// until then.
    package func leaveAll(at now: Moment) {
        shutdownDeadline = now.monotonic + Self.lastWait.nanoseconds
        for session in sessions.values where endings[session.identifier] == nil {
            log(.notice, "recording is interrupted, and continues when a recorder starts here", session)
        }
        leftBlock = commitNow(at: now)
    }

    /// Ends a session: cleanly, or with the data it has if it failed. A session that is already being ended only stops
    /// waiting for results.
    package func stop(_ identifier: SessionIdentifier, at now: Moment) {
        sessions[identifier]?.endResults()
        unstopped.append(identifier)
        advance(at: now)
    }

    func beginStop(_ identifier: SessionIdentifier, at now: Moment) {
        guard let session = sessions[identifier], endings[identifier] == nil else { return }
        advance(session, to: .waitingToStop, at: now)
        if session.status == .waitingToStop {
            endings[identifier] = .asking
            emit(
                .list(identifier, session.record.streams, at: session.publishers, isHurried: shutdownDeadline != nil))
        } else {
            close(session, at: now)
        }
    }

    /// Ends a session as cancelled, without requesting missing samples.
    package func cancel(_ session: Session, at now: Moment) {
        guard endings[session.identifier] == nil else { return }
        advance(session, to: .cancelled, at: now)
        close(session, at: now)
        advance(at: now)
    }

    /// Takes the publishers' descriptions of a stopped session's streams.
    package func listed(_ identifier: SessionIdentifier, _ descriptions: [StreamDescription], at now: Moment) {
        guard let session = sessions[identifier], case .asking = endings[identifier] else { return }
        let descriptions = descriptions.furthest
        finishWatch(descriptions, of: session, at: now)
        for description in descriptions
        where session.status == .waitingToStop && session.wants(description.name) {
            if session.streams[description.name]?.isLater(description) == true { continue }
            guard let stream = stream(for: description, from: nil, in: session, at: now) else { continue }
            stream.end(description)
            // A recorder that is killed before it closes the session would never publish them.
            if stream.hasNewGaps { announceGaps(of: stream, in: session, at: now) }
        }
        // Samples in transit come first. Those that have not arrived by then are requested.
        endings[identifier] = .settling(
            Settling(
                deadline: now.monotonic + Self.travelTime.nanoseconds,
                limit: now.monotonic + Self.settlingLimit.nanoseconds,
                delayLimit: now.monotonic + Self.longestDelay.nanoseconds, rest: session.ordered[...]))
        advance(at: now)
    }

    func advanceEndings(at now: Moment) {
        if endings.isEmpty { return }
        for (identifier, ending) in endings {
            guard let session = sessions[identifier] else { continue }
            switch ending {
            case .settling(let settling): settle(session, settling, at: now)
            case .closing(let block):
                guard writtenBlocks >= block, !isAwaitingResults(session, at: now),
                    ringRemoval?.session != identifier
                else { continue }
                conclude(session, isSecond: false)
            default: continue
            }
        }
    }

    private func isAwaitingResults(_ session: Session, at now: Moment) -> Bool {
        guard let deadline = session.resultsDeadline, !isStoppingAll, !session.status.isOver else {
            return false
        }
        return now.elapsed < deadline
    }

    /// Whether a session that is being ended only waits for results. If the program ends, the next start continues the wait.
    func isLeftToNextStart(_ identifier: SessionIdentifier) -> Bool {
        guard case .closing(let block) = endings[identifier] else { return false }
        return writtenBlocks >= block && sessions[identifier]?.resultsDeadline != nil
    }

    /// Waits until every sample taken before the stop has arrived or was given up.
    private func settle(_ session: Session, _ settling: Settling, at now: Moment) {
        var settling = settling
        while true {
            while let last = settling.rest.last, last.intake.isComplete,
                settling.isAsked || last.log.record.isEndKnown
            {
                settling.rest.removeLast()
            }
            let isLate = now.monotonic >= min(settling.deadline, shutdownDeadline ?? .max)
            guard settling.rest.isEmpty || isLate || session.status != .waitingToStop else {
                endings[session.identifier] = .settling(settling)
                return
            }
            // Wait as long as samples keep coming: a recorder that hung may have much to catch up with.
            let streams = session.ordered
            let settled = streams.reduce(0) { $0.addingClamped($1.settled) }
            let isDelayed = settling.isPutOff && now.monotonic < settling.delayLimit
            guard now.monotonic < settling.limit, settled > settling.settled || isDelayed,
                !streams.allSatisfy(\.intake.isComplete)
            else { return compareLast(session, settling, at: now) }
            if settling.isAsked, settled > settling.settled { settling.extendDelay(at: now) }
            (settling.settled, settling.isPutOff) = (settled, false)
            settling.isAsked = true
            settling.deadline = now.monotonic + settings.recoveryLimit
            settling.rest = streams[...]
            for stream in streams {
                _ = stream.intake.expectEnd()
                recover(stream, of: session, at: now)
            }
        }
    }

    private func compareLast(_ session: Session, _ settling: Settling, at now: Moment) {
        guard !settling.isCompared, shutdownDeadline == nil, session.status == .waitingToStop,
            session.ordered.contains(where: \.log.record.isEndKnown)
        else { return finishSettling(session, at: now) }
        endings[session.identifier] = .comparing(settling)
        emit(.compareClocks(session.identifier, at: session.publishers, isLast: true))
    }

    /// Ends a session once clocks are compared, unless samples that arrived meanwhile show that others are missing.
    func endComparison(of session: Session, at now: Moment) {
        guard case .comparing(var settling) = endings[session.identifier] else { return }
        settling.isCompared = true
        settle(session, settling, at: now)
    }

    private func finishSettling(_ session: Session, at now: Moment) {
        for pattern in session.record.streams where !session.hasMet(pattern) {
            session.note(failures: ["there was no stream '\(pattern)' while the session ran"])
        }
        for stream in session.ordered where session.status == .waitingToStop { stream.noteUnheard(at: now) }
        close(session, at: now)
    }

    // MARK: Closing

    /// Closes a session's logs. Its end is stored once everything is in files.
    private func close(_ session: Session, at now: Moment) {
        noteClock(of: session, at: now)
        // The status is noted together with the end: a later recorder may store the session.
        session.end(at: now)
        advance(session, to: .processingResults, at: now)
        routes = TopicTable()
        for stream in session.ordered {
            release(stream, of: session, at: now)
            stream.noteUnknownEnds(at: now.date)
        }
        if session.status == .failed { emit(.release(.ends)) }
        for stream in session.ordered {
            stream.close(at: now)
            announceGaps(of: stream, in: session, at: now)
        }
        demandedBlocks = lastBlock
        endings[session.identifier] = .closing(block: lastBlock)
    }

    /// Gives up the samples that a stream waits for, and writes the samples behind them.
    private func release(_ stream: StreamRecording, of session: Session, at now: Moment) {
        // If the session failed, its publishers may still have these samples.
        let reason = session.status == .failed ? Gap.Reason.notWritten : .publisherUnreachable
        var isMore = true
        while isMore {
            // Unreadable rows are skipped: each turn takes some of the waiting samples.
            try? stream.resume(at: now)
            isMore = stream.intake.recovery != nil || stream.intake.expectEnd()
            if isMore { try? stream.giveUp(reason, at: now) }
        }
    }

    /// Stores a session's end. If its files could not be finished, they are first rebuilt from the write-ahead log.
    private func conclude(_ session: Session, isSecond: Bool) {
        if brokenFiles.contains(session.identifier) || session.isWaitingForFiles {
            endings[session.identifier] = .rebuilding(isSecond: isSecond)
            emit(.rebuild(session.directory, failures: session.record.failures))
        } else {
            let record = session.finish()
            // Made once: this takes a while for a thousand streams, and the report is published too.
            let report = session.report
            endings[session.identifier] = .concluding(report, isSecond: isSecond)
            emit(.conclude(record, report, session.directory))
        }
    }

    /// Takes the result of rebuilding a session's files.
    package func rebuilt(
        _ identifier: SessionIdentifier, _ outcome: Result<SessionRecord, RecordingError>, at now: Moment
    ) {
        guard let session = sessions[identifier] ?? unstored[identifier],
            case .rebuilding(let isSecond) = endings[identifier]
        else { return }
        switch outcome {
        case .success(let record):
            brokenFiles.remove(identifier)
            session.replace(by: record)
            conclude(session, isSecond: isSecond)
        case .failure(let error): noteUnstored(session, error, isSecond: isSecond, at: now)
        }
        advance(at: now)
    }

    /// Takes the result of storing a session's end.
    package func concluded(_ record: SessionRecord, _ failure: RecordingError?, at now: Moment) {
        guard let session = sessions[record.session] ?? unstored[record.session],
            case .concluding(let report, let isSecond) = endings[record.session]
        else { return }
        if let failure {
            noteUnstored(session, failure, isSecond: isSecond, at: now)
        } else {
            announceFiles(in: record, of: session)
            end(session, stored: report, at: now)
        }
        advance(at: now)
    }

    private func noteUnstored(_ session: Session, _ error: RecordingError, isSecond: Bool, at now: Moment) {
        guard sessions[session.identifier] != nil else {
            endings[session.identifier] = nil
            return
        }
        log(.error, "the end of a recording could not be stored", session, [LogKey.error: "\(error)"])
        if session.status < .failed { fail(session, error, at: now) }
        // A second attempt may succeed: space was freed for it.
        if isSecond { end(session, stored: nil, at: now) } else { conclude(session, isSecond: true) }
    }

    /// - Parameter stored: the report that is on disk; nil if the session's end could not be stored.
    private func end(_ session: Session, stored: SessionReport?, at now: Moment) {
        let identifier = session.identifier
        endings[identifier] = nil
        if stored != nil {
            brokenFiles.remove(identifier)
            emit(.forget(identifier))
        }
        guard sessions.removeValue(forKey: identifier) != nil else {
            unstored[identifier] = nil
            return emit(
                .log(.notice, "the end of a recording was stored", ["session": "\(identifier)"]))
        }
        if stored == nil {
            if unstored.count < Self.maximumUnstored {
                unstored[identifier] = session
            } else {
                leftToNextStart.append(session.stored)
            }
        }
        if session.status == .finished { publish(.status, of: session, at: now) }
        let report = stored ?? session.report
        publish(.report, of: session, at: now, report: report)
        emit(.ended(report, session.status))
        session.forget()
        emit(.unsubscribe(Set(session.record.streams)))
        removeLog()
        log(.notice, "recording ended", session, ["status": "\(session.status)", "whole": "\(report.isWhole)"])
    }

    /// Retries storing the ends of sessions that could not be stored.
    func storeAgain() {
        for session in Array(unstored.values) where endings[session.identifier] == nil {
            conclude(session, isSecond: true)
        }
    }

    func advance(_ session: Session, to status: SessionStatus, at now: Moment) {
        guard session.advance(to: status) else { return }
        publish(.status, of: session, at: now)
    }
}
