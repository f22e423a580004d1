import DequeModule
package import Files
import Logging
import MessageBus
package import Messages
package import Recording
import ServiceKit

/// How sessions end: asked to, with their duration, with the program, or because something failed.
extension Recordings {
    /// How long what was published before a stop may travel before it is asked for again.
    private static let travelTime = TimeSpan.milliseconds(300)
    /// How long sessions may wait for their publishers when the program ends: less than `ServiceRunner.drainLimit`, so
    /// that their files are finished within it.
    private static let lastWait = TimeSpan.seconds(3)
    /// How long samples may come in after a stop: as long as publishers keep them by default. A hostile one could give one
    /// at a time of as many as it says that there are.
    private static let settlingLimit = TimeSpan.seconds(600)
    /// How long a session that is stopped waits for a publisher that answers and can't give its samples yet, such as a relay whose
    /// servers have no leader.
    private static let longestDelay = TimeSpan.seconds(60)
    /// Sessions whose report could not be stored are kept in memory, at most so many.
    private static let maximumUnstored = 64

    /// How far a session is that is being ended.
    enum Ending {
        /// Publishers are asked how far its streams are.
        case asking
        /// What was published before the stop is awaited, or what is missing of it.
        case settling(Settling)
        /// The publishers' clocks are compared for the last time.
        case comparing(Settling)
        /// Everything up to a block is to be in files.
        case closing(block: Int)
        /// Its files are written anew.
        case rebuilding(isSecond: Bool)
        /// Its end is being stored, with this report.
        case concluding(SessionReport, isSecond: Bool)
    }

    struct Settling {
        /// When this round of waiting ends, and when all waiting ends, on the monotonic clock.
        var deadline: Int64
        let limit: Int64
        /// When it ends if publishers only say that they are to be asked again.
        let delayLimit: Int64
        /// Streams that may not have everything. Whatever arrives asks again, so only one is looked at that keeps the others
        /// waiting.
        var rest: ArraySlice<StreamRecording>
        /// Whether what is missing was asked for.
        var isAsked = false
        /// Whether the publishers' clocks were compared for the last time.
        var isCompared = false
        /// Whether a publisher said since then that it is to be asked again.
        var isPutOff = false
        /// The samples that were dealt with when it was asked for last.
        var settled = -1
    }

    // MARK: Stopping

    /// Stops every session because the program is about to end. Waits for publishers no longer than `lastWait`.
    package func stopAll(at now: Moment) {
        shutdownDeadline = now.monotonic + Self.lastWait.nanoseconds
        isStoppingAll = true
        unstopped.append(contentsOf: sessions.keys)
        advance(at: now)
    }

    /// Stores what was taken because the program is about to end. Sessions that are not being ended stay open: whoever starts next
    /// finds them as after a kill, and requests from the publishers what comes until then.
    package func leaveAll(at now: Moment) {
        shutdownDeadline = now.monotonic + Self.lastWait.nanoseconds
        for session in sessions.values where endings[session.identifier] == nil {
            log(.notice, "recording is interrupted, and continues when a recorder starts here", session)
        }
        leftBlock = commitNow(at: now)
    }

    /// Ends a session in good order, or with what is there if it failed. One that is being ended already continues as it is.
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

    /// Ends a session as cancelled, without asking for missing samples.
    package func cancel(_ session: Session, at now: Moment) {
        guard endings[session.identifier] == nil else { return }
        advance(session, to: .cancelled, at: now)
        close(session, at: now)
        advance(at: now)
    }

    /// Takes what publishers say of a session's streams, once it is stopped.
    package func listed(_ identifier: SessionIdentifier, _ descriptions: [StreamDescription], at now: Moment) {
        guard let session = sessions[identifier], case .asking = endings[identifier] else { return }
        finishWatch(descriptions, of: session, at: now)
        for description in descriptions
        where session.status == .waitingToStop && session.wants(description.name) {
            if session.streams[description.name]?.isLater(description) == true { continue }
            stream(for: description, from: nil, in: session, at: now)?.end(description)
        }
        // What is under way first; what has not come by then is asked for.
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
        guard let deadline = session.resultsDeadline, shutdownDeadline == nil, !session.status.isOver else {
            return false
        }
        return now.monotonic < deadline
    }

    /// Waits until every sample that was taken before the stop has arrived, or was given up.
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
            // As long as something comes: a recorder that hung may have much to catch up with.
            let streams = session.ordered
            let settled = streams.reduce(0) { $0.addingClamped($1.settled) }
            let isDelayed = settling.isPutOff && now.monotonic < settling.delayLimit
            guard now.monotonic < settling.limit, settled > settling.settled || isDelayed,
                !streams.allSatisfy(\.intake.isComplete)
            else { return compareLast(session, settling, at: now) }
            (settling.settled, settling.isPutOff) = (settled, false)
            settling.isAsked = true
            settling.deadline = now.monotonic + settings.recoveryLimit
            settling.rest = streams[...]
            for stream in streams where stream.intake.expectEnd() { recover(stream, of: session, at: now) }
        }
    }

    private func compareLast(_ session: Session, _ settling: Settling, at now: Moment) {
        guard !settling.isCompared, shutdownDeadline == nil, session.status == .waitingToStop,
            session.ordered.contains(where: \.log.record.isEndKnown)
        else { return finishSettling(session, at: now) }
        endings[session.identifier] = .comparing(settling)
        emit(.compareClocks(session.identifier, at: session.publishers, isLast: true))
    }

    /// Ends a session once clocks are compared, unless what came meanwhile shows that samples are missing.
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

    /// Closes a session's logs. Its end is stored once all of that is in files.
    private func close(_ session: Session, at now: Moment) {
        advance(session, to: .processingResults, at: now)
        routes = TopicTable()
        session.end(at: now.date)
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

    /// Gives up what a stream waits for, and writes what waits behind that.
    private func release(_ stream: StreamRecording, of session: Session, at now: Moment) {
        // Of a session that failed, its publishers may still have them.
        let reason = session.status == .failed ? Gap.Reason.notWritten : .publisherUnreachable
        var isMore = true
        while isMore {
            // What can't be read is passed over: each turn takes some of what waits.
            try? stream.resume(at: now)
            isMore = stream.intake.recovery != nil || stream.intake.expectEnd()
            if isMore { try? stream.giveUp(reason, at: now) }
        }
    }

    /// Has a session's end stored. If its files could not be finished, they are written anew from the write-ahead log.
    private func conclude(_ session: Session, isSecond: Bool) {
        if brokenFiles.contains(session.identifier) || session.isWaitingForFiles {
            endings[session.identifier] = .rebuilding(isSecond: isSecond)
            emit(.rebuild(session.directory, failures: session.record.failures))
        } else {
            let record = session.finish()
            // To make that of a thousand streams takes a while, and it is published too.
            let report = session.report
            endings[session.identifier] = .concluding(report, isSecond: isSecond)
            emit(.conclude(record, report, session.directory))
        }
    }

    /// Takes the result of writing a session's files again.
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
        // What failed may work now: room was made for it.
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

    /// Tries to store the ends of sessions that could not be stored.
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
