import Files
import Logging
import MessageBus
import Messages
import RecorderCore
import Recording
import Runtime
import ServiceKit
import ZeroMQ

/// The recorder's request methods.
extension RecordingEngine {
    /// How long a request to finish files may wait for the disk: less than `ReplyServer`'s time limit.
    private static let finishLimit = TimeSpan.seconds(20)
    /// How long a request to discard may wait until it is answered: less than `ReplyServer`'s time limit.
    private static let discardLimit = TimeSpan.seconds(20)

    /// Returns when everything written so far is durable, or its sessions have failed.
    func commit() async throws {
        let block = core.commitNow(at: now)
        perform()
        try await wait { [core] in core.isCommitted(block) }
    }

    func move(_ request: RecordingMoveTo) async throws -> RecordingState {
        try SessionRecord.check(request.step, "step")
        return try await change(request.session, .step) { session in
            session.move(to: request.step ?? "", at: now)
            return true
        }
    }

    func extend(_ request: RecordingExtend) async throws -> RecordingState {
        try await change(request.session) { session in
            session.extend(until: request.until, at: now)
                ? { [core] now in core.publish(.status, of: session, at: now) } : nil
        }
    }

    /// Keeps a time range of a session from its ring. When this returns, the request survives a power cut.
    func keep(_ request: RecordingKeep) async throws -> RecordingKeep.Reply {
        var reply: RecordingKeep.Reply?
        _ = try await change(request.session) { session in
            reply = try core.keep(request, in: session, at: now)
            return nil
        }
        guard let reply else { throw RequestError(.inputOutput, "the time was not kept") }
        return reply
    }

    func pause(_ request: RecordingPause) async throws -> RecordingState {
        try await change(request.session, .pause, of: request.stream) { try $0.pause(request.stream, at: now) }
    }

    func resume(_ request: RecordingResume) async throws -> RecordingState {
        try await change(request.session, .resume, of: request.stream) { try $0.resume(request.stream, at: now) }
    }

    /// Changes a session. When this returns, the change survives a power cut.
    private func change(
        _ name: String, _ change: RecordingEvent.Change, of stream: StreamName? = nil, _ body: (Session) throws -> Bool
    ) async throws -> RecordingState {
        try await self.change(name) { session in
            try body(session) ? { [core] now in core.publish(change, of: session, at: now, stream: stream) } : nil
        }
    }

    /// Changes a session. When this returns, the change survives a power cut.
    /// - Parameter body: returns a function that publishes the change once it is durable; nil if nothing changed.
    func change(
        _ name: String, _ body: (Session) throws -> ((Moment) -> Void)?
    ) async throws -> RecordingState {
        let session = try await changeable(name)
        if !session.directory.directory.contains(SessionDirectory.recordName) {
            core.fail(session, RecordingError.removed(session.directory.directory.path), at: now)
            core.advance(at: now)
            perform()
        }
        try session.checkSound()
        let publish = try body(session)
        let state = session.state
        try await commit()
        try session.checkSound()
        if let publish {
            publish(now)
            perform()
        }
        return state
    }

    /// Finishes files. When this returns, `session.json` lists them.
    func finishFiles(_ request: LogsFinish) async throws -> LogsFinish.Reply {
        let files = try core.finishFiles(request, at: now)
        perform()
        try await wait(until: now.monotonic + Self.finishLimit.nanoseconds) { files.allSatisfy(\.isOver) }
        if !files.allSatisfy(\.isOver) {
            throw RequestError(
                .timedOut, "the files are still being finished, because the disk is slow; segment events report them")
        }
        return LogsFinish.Reply(files: files.compactMap(\.path))
    }

    /// Ends a session as cancelled, without requesting missing samples.
    func cancel(_ request: RecordingCancel) async throws -> RecordingState {
        let session = try await changeable(request.session)
        core.cancel(session, at: now)
        perform()
        try await waitForEnd(of: session)
        return session.state
    }

    /// Ends a session: every sample taken so far is in its logs when this returns.
    func stop(_ request: RecordingStop) async throws -> RecordingResult {
        let identifier = try SessionIdentifier(request.session)
        if let session = core.sessions[identifier] {
            if let results = request.results { try session.take(results: results) }
            core.stop(identifier, at: now)
            perform()
            try await waitForEnd(of: session)
        }
        return try await storedResult(request.session, with: request.results)
    }

    /// If the client that asked for the end stops waiting, the end continues.
    private func waitForEnd(of session: Session) async throws {
        try await wait { [core] in core.sessions[session.identifier] !== session }
    }

    /// Keeps the results so far. When this returns, they survive a power cut.
    func setResults(_ request: RecordingSetResults) async throws -> RecordingState {
        let session = try await takingResults(request.session)
        try session.take(results: request.results)
        try await commit()
        try session.checkSound()
        return session.state
    }

    /// Adds a piece of a file to a session.
    func addFile(_ request: RecordingAddFile, _ bytes: [UInt8]) async throws -> RecordingAddFile.Reply {
        let session = try await takingResults(request.session)
        let offset = request.offset ?? 0
        try RequestError.require(offset >= 0, "offset is \(offset): write how many bytes were sent before, 0 or more")
        try core.checkRoom("the file is not kept")
        let (directory, isLast) = (session.directory, request.more != true)
        let file = try await disk.run { try directory.add(bytes, to: request.name, at: offset, isLast: isLast) }
        return RecordingAddFile.Reply(
            session: request.session, name: request.name, bytes: file.bytes, sha256: file.sha256)
    }

    private func takingResults(_ name: String) async throws -> Session {
        if let session = try core.takingResults(SessionIdentifier(name)) { return session }
        throw try await record(of: name).refusalToResults
    }

    func status(_ request: RecordingStatus) async throws -> RecordingState {
        if let session = try core.known(SessionIdentifier(request.session)) { return session.state }
        return RecordingState(try await stored(request.session).record)
    }

    /// The plan with which another recorder can continue a session.
    func plan(_ request: RecordingPlan) async throws -> RecordingPlan.Reply {
        let record = try await record(of: request.session)
        return RecordingPlan.Reply(session: request.session, status: record.status.rawValue, plan: SessionPlan(record))
    }

    /// The sessions on disk, including current ones, except current sessions of another shard's recorder.
    func list(_ request: RecordingList) async throws -> RecordingList.Reply {
        try request.check()
        // There may be thousands of sessions.
        let records = try await disk.run { [data, logger = runtime.logger] in
            try SessionDirectory.sessions(in: data).compactMap { identifier -> (SessionIdentifier, SessionRecord)? in
                do {
                    return (identifier, try SessionDirectory.open(identifier, in: data).record())
                } catch {
                    // A session that somebody damaged must not hide the others.
                    logger.warning(
                        "session passed over", metadata: ["session": "\(identifier)", LogKey.error: "\(error)"])
                    return nil
                }
            }
        }
        return try request.page(
            of: records.filter { $1.isAvailable(to: settings.shard) }.map { identifier, record in
                RecordingList.Entry(
                    session: identifier.text, status: (core.known(identifier)?.status ?? record.status).rawValue,
                    startDate: record.startDate, endDate: record.endDate,
                    isInterrupted: isInterrupted(identifier) ? true : nil)
            })
    }

    func result(_ request: RecordingResultRequest) async throws -> RecordingResult {
        try core.checkResult(of: SessionIdentifier(request.session))
        var result = try await storedResult(request.session)
        if request.encoded == true { result.taskResult = try await taskResult(of: request.session) }
        return result
    }

    private func taskResult(of name: String) async throws -> JSONValue {
        if let session = try core.unstored[SessionIdentifier(name)] {
            let (directory, record) = (session.directory, session.record)
            return try await disk.run { try directory.taskResult(of: record) }
        }
        let (directory, record) = try await stored(name)
        return try await disk.run { try directory.taskResult(of: record) }
    }

    private func changeable(_ name: String) async throws -> Session {
        if let session = try core.changeable(SessionIdentifier(name)) { return session }
        throw try await record(of: name).refusalToChange
    }

    /// The record of a session that is in progress, is over, or could not be stored.
    private func record(of name: String) async throws -> SessionRecord {
        if let session = try core.known(SessionIdentifier(name)) { return session.record }
        return try await stored(name).record
    }

    /// A session on disk that is over or belongs to this recorder. Read on another thread, because the record of a thousand
    /// streams takes so long that samples must not wait for it.
    private func stored(_ name: String) async throws -> (directory: SessionDirectory, record: SessionRecord) {
        try await disk.run { [data, shard = settings.shard] in
            let directory = try SessionDirectory.open(SessionIdentifier(name), in: data)
            let record = try directory.record()
            try record.checkAvailable(to: shard)
            return (directory, record)
        }
    }

    /// The result of a session that is over.
    /// - Parameter results: results that must have been kept with the session.
    func storedResult(_ name: String, with results: JSONValue? = nil) async throws -> RecordingResult {
        if let session = try core.unstored[SessionIdentifier(name)] {
            try session.record.checkResults(results)
            return RecordingResult(session.record, report: session.report, in: session.directory)
        }
        let (directory, record) = try await stored(name)
        try record.checkResults(results)
        try record.checkReported()
        return try await disk.run { RecordingResult(record, report: try directory.report(), in: directory) }
    }

    // MARK: Discarding

    /// Removes a session. When this returns, nothing can bring the session back, not even a power cut.
    func discard(_ request: RecordingDiscard) async throws -> RecordingDiscard.Reply {
        let identifier = try SessionIdentifier(request.session)
        let discard = try core.discard(identifier, isForced: request.force ?? false, at: now)
        perform()
        // Clearing the write-ahead log waits for other sessions: a full disk could delay it without end.
        let deadline = now.monotonic + Self.discardLimit.nanoseconds
        try await wait(until: deadline) { discard.outcome != nil }
        if case .failure(let error) = discard.outcome { throw error }
        guard let line = discard.line, discard.isErased || discard.outcome != nil else {
            throw RequestError(.timedOut, "session \(identifier) is still being discarded: ask again", retryAfter: 5)
        }
        return RecordingDiscard.Reply(
            session: request.session, date: line.date, uploaded: line.uploaded, isComplete: discard.outcome != nil)
    }
}
