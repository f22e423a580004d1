import Files
import Logging
import MessageBus
import Messages
import RecorderCore
import Recording
import ServiceKit
import ZeroMQ

/// How sessions end: asked to, with their duration, with the program, or because something failed.
extension RecordingEngine {
    /// How long what was published before a stop may travel before it is asked for again.
    private static let travelTime = TimeSpan.milliseconds(300)
    /// How long sessions may wait for their publishers when the program ends: less than `ServiceRunner.drainLimit`, so
    /// that their files are finished within it.
    private static let lastWait = TimeSpan.seconds(3)
    /// How long samples may come in after a stop: as long as publishers keep them by default. A hostile one could give one
    /// at a time of as many as it says that there are.
    private static let settlingLimit = TimeSpan.seconds(600)
    /// Sessions whose report could not be stored are kept in memory, at most so many.
    private static let maximumUnstored = 64

    /// Ends a session whose result nobody wants.
    func cancel(_ request: RecordingCancel) async throws -> RecordingState {
        let session = try running(request.session)
        if session.beginStopping() {
            rise(session, to: .cancelled)
            await close(session)
        }
        return session.state
    }

    /// Ends a session: every sample taken so far is in its logs when this returns.
    func stop(_ request: RecordingStop) async throws -> RecordingResult {
        let identifier = try SessionIdentifier(request.session)
        if let session = sessions[identifier] {
            if let results = request.results { try note(results, of: session) }
            // Carried out apart from the request, whose time limit must not cut a session's end short.
            ordering.yield(.stop(session: identifier))
            try await wait { [self] in sessions[identifier] !== session }
        }
        return try storedResult(request.session, with: request.results)
    }

    private func note(_ results: JSONValue, of session: Session) throws(RequestError) {
        do throws(MessageError) {
            _ = try TaskResults(results)
        } catch {
            throw RequestError(
                .invalidParameter, "\(error): the session goes on, stop it with results that can be kept")
        }
        session.note(results: results)
    }

    /// Ends every session, each with what was taken so far, for the program is about to end: nobody waits for
    /// publishers longer than `lastWait`.
    func stopAll() async {
        lastCall = MonotonicClock.now + Self.lastWait.nanoseconds
        let identifiers = Array(sessions.keys)
        await withDiscardingTaskGroup { group in
            for identifier in identifiers { group.addTask { await self.stop(identifier) } }
        }
    }

    /// Ends a session in good order, or with what is there if it failed.
    func stop(_ identifier: SessionIdentifier) async {
        guard let session = sessions[identifier] else { return }
        guard session.beginStopping() else {
            // Somebody else is at it: wait for the end.
            try? await wait { [self] in sessions[identifier] !== session }
            return
        }
        rise(session, to: .waitingToStop)
        if session.status == .waitingToStop { await settle(session) }
        await close(session)
    }

    /// Waits until every sample taken before the stop has arrived, or was given up.
    private func settle(_ session: Session) async {
        // Of a program that ends nobody waits long.
        let timeout = lastCall == nil ? Self.listTimeout : .seconds(1)
        let descriptions = await publishers.streams(
            session.record.streams, at: session.publishers, timeout: timeout)
        let now = Moment.now
        finishWatch(descriptions, of: session, at: now)
        for description in descriptions
        where session.status == .waitingToStop && session.wants(description.name) {
            if session.streams[description.name]?.isLater(description) == true { continue }
            stream(for: description, from: nil, in: session, at: now)?.end(description)
        }
        let streams = session.ordered
        // What is under way first; what has not come by then is asked for.
        await wait(for: session, atMost: Self.travelTime, until: streams) {
            $0.log.record.isEndKnown && $0.intake.isComplete
        }
        // As long as something comes: a recorder that hung may have much to catch up with.
        var settled = -1
        let limit = MonotonicClock.now + Self.settlingLimit.nanoseconds
        while MonotonicClock.now < limit, !streams.allSatisfy(\.intake.isComplete) {
            let count = streams.reduce(0) { $0.addingClamped($1.settled) }
            if count <= settled { break }
            settled = count
            let now = Moment.now
            for stream in streams where stream.intake.expectEnd() { recover(stream, of: session, at: now) }
            await wait(for: session, atMost: settings.recoveryLimit, until: streams, are: \.intake.isComplete)
        }
        if lastCall == nil, session.status == .waitingToStop, streams.contains(where: \.log.record.isEndKnown) {
            await compareClocks(of: session, isLast: true)
        }
        for pattern in session.record.streams where !session.hasMet(pattern) {
            session.note(failures: ["there was no stream '\(pattern)' while the session ran"])
        }
    }

    /// Waits for the streams of a session that is being stopped, no longer than the program's end allows.
    private func wait(
        for session: Session, atMost limit: TimeSpan, until streams: [StreamRecording],
        are isDone: @escaping (StreamRecording) -> Bool
    ) async {
        // Whatever arrives asks again, so only one stream is looked at that keeps the others waiting.
        var rest = streams
        try? await wait(until: MonotonicClock.now + limit.nanoseconds) { [self] in
            if session.status != .waitingToStop || MonotonicClock.now >= lastCall ?? .max { return true }
            while let last = rest.last, isDone(last) { rest.removeLast() }
            return rest.isEmpty
        }
    }

    /// Finishes a session's files, writes its report and forgets it.
    func close(_ session: Session) async {
        rise(session, to: .processingResults)
        routes = TopicTable()
        let now = Moment.now
        session.end(at: now.date)
        for stream in session.ordered {
            release(stream, at: now)
            stream.noteUnknownEnds(at: now.date)
        }
        if session.status == .failed { try? endReserve.release() }
        for stream in session.ordered {
            stream.close(at: now.date)
            announceGaps(of: stream, in: session)
        }
        await written()
        var isStored = await conclude(session)
        // What failed may work now: room was made for it.
        if !isStored { isStored = await conclude(session) }
        if !isStored, unstored.count < Self.maximumUnstored { unstored[session.identifier] = session }
        if session.status == .finished { publish(.status, of: session) }
        let report = session.report
        publish(.report, of: session, report: report)
        if !report.isWhole { loss.raise() }
        endedTotals.add(report)
        endedSessions[session.status, default: 0] += 1
        session.forget()
        sessions[session.identifier] = nil
        resumeWaits()
        if isStored { await files.forget(session.identifier) }
        await unsubscribe(from: Set(session.record.streams))
        await removeLog()
        logger.notice(
            "recording ended",
            metadata: ["session": "\(session.identifier)", "status": "\(session.status)", "whole": "\(report.isWhole)"])
    }

    /// Stores a session's end. If its files could not be finished, they are written anew from the write-ahead log.
    /// - Returns: false if that failed.
    private func conclude(_ session: Session) async -> Bool {
        do {
            if await files.failure(of: session.identifier) != nil || session.isWaitingForFiles {
                let record = try await files.finish(
                    session.directory, log: logDirectory, failures: session.record.failures)
                session.replace(by: record)
            }
            let (directory, record, report) = (session.directory, session.finish(), session.report)
            // A reader that finds a session to be over finds its report too. The checksums come last, for without them the
            // next start of the recorder tries to finish what could not be.
            try await disk.run {
                try directory.write(report)
                try directory.write(record)
                try directory.writeChecksums(known: record.logs.flatMap(\.files))
            }
            announceFiles(in: record, of: session)
            return true
        } catch {
            logger.error(
                "the end of a recording could not be stored",
                metadata: ["session": "\(session.identifier)", LogKey.error: "\(error)"])
            if session.status < .failed { fail(session, error) }
            return false
        }
    }

    func storeAgain() async {
        for session in Array(unstored.values) where session.directory.directory.isThere {
            guard await conclude(session) else { continue }
            unstored[session.identifier] = nil
            await files.forget(session.identifier)
            logger.notice("the end of a recording was stored", metadata: ["session": "\(session.identifier)"])
        }
    }

    /// Gives up what a stream waits for, and writes what waits behind that.
    private func release(_ stream: StreamRecording, at now: Moment) {
        var isMore = true
        while isMore {
            // What can't be read is passed over: each turn takes some of what waits.
            try? stream.resume(at: now)
            isMore = stream.intake.recovery != nil || stream.intake.expectEnd()
            if isMore { try? stream.giveUp(.publisherUnreachable, at: now) }
        }
    }

    private func rise(_ session: Session, to status: SessionStatus) {
        guard session.rise(to: status) else { return }
        publish(.status, of: session)
        resumeWaits()
    }
}
