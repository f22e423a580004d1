import Files
import Logging
import MessageBus
import Messages
import RecorderCore
import Recording
import Runtime
import ServiceKit
import ZeroMQ

/// What is asked: the methods of a recorder.
extension RecordingEngine {
    /// Publishers describe their streams each second, so a recorder that ran this long knows all that are there, also
    /// if the machine is busy.
    private static let descriptionsKnown = TimeSpan.seconds(3)
    /// How long a publisher may take to say where its streams are: what it does not say of a stream's end is not asked for.
    static let listTimeout = Duration.seconds(3)
    /// How long a request to finish files may wait for the disk: less than `ReplyServer`'s time limit.
    private static let finishLimit = TimeSpan.seconds(20)
    /// How long a discard may take until it is answered: less than `ReplyServer`'s time limit.
    private static let discardLimit = TimeSpan.seconds(20)
    /// How many logs are opened in one go.
    private static let streamsAtOnce = 50

    /// Starts a session. When this returns, every sample taken from now on will be recorded.
    func start(_ request: RecordingStart) async throws -> RecordingStart.Reply {
        let asked = try RequestedSession(
            request, shard: settings.shard, at: now.date, random: .random(in: .min ... .max))
        let identifier = asked.identifier
        try checkStart(of: identifier)
        var isMine = false
        defer { if isMine { starting.remove(identifier) } }
        let patterns = Set(asked.streams)
        let session: Session
        let streams: [StreamDescription]
        do {
            try await subscribe(to: patterns)
            try await waitForDescriptions(of: patterns)
            await configure(streamsOf: patterns)
            var record = asked.record(at: now.date)
            streams = await publishers.streams(
                asked.streams, at: core.sources(of: patterns, at: now), timeout: Self.listTimeout)
            // Others may have started a session of this name meanwhile.
            try checkStart(of: identifier)
            isMine = starting.insert(identifier).inserted
            record.logPosition = core.logPosition
            let directory = try await disk.run { [self, data, record] in
                restoreReserves()
                return try SessionDirectory.create(record, in: data)
            }
            session = try core.add(record, in: directory, at: now)
        } catch {
            await unsubscribe(from: patterns)
            if (error as? RecordingError)?.code == .alreadyExists {
                try requireUntaken(identifier)
                let known = try? await stored(identifier.text).record
                if let known { throw known.status.refusal(toStart: identifier) }
            }
            throw error
        }
        return try await begin(session, with: streams)
    }

    private func checkStart(of identifier: SessionIdentifier) throws {
        guard core.shutdownDeadline == nil else {
            throw RequestError(.stopping, "the recorder is stopping: start another one")
        }
        let status = starting.contains(identifier) ? .starting : known(identifier)?.status
        if let status { throw status.refusal(toStart: identifier) }
        lookAtDisk()
        if let freeBytes, freeBytes < settings.minimumFree.bytes {
            throw RequestError(.noSpace, "nothing is recorded: \(core.tooLittleRoom(freeBytes))")
        }
    }

    /// Asks for the logs of the streams that a session is to begin with.
    private func configure(streamsOf patterns: Set<String>) async {
        if core.configurations.isAway(at: now.monotonic) { return }
        let streams = core.described.keys.filter { $0.matches(anyOf: patterns) }
        var taken: Set<String> = []
        let names = streams.sorted { $0.description < $1.description }.map { stream in
            let name = LogName(device: stream.device, stream: stream.stream, avoiding: taken)
            taken.insert(name.folded)
            return name
        }
        core.configured(await configurations(of: names), at: now)
        perform()
    }

    func subscribe(to patterns: Set<String>) async throws {
        for pattern in patterns { try await listener.subscribe(to: TopicArea.samples(of: pattern)) }
    }

    func unsubscribe(from patterns: Set<String>) async {
        // Only a socket that is gone refuses, and it has no subscriptions.
        for pattern in patterns { try? await listener.unsubscribe(from: TopicArea.samples(of: pattern)) }
    }

    /// Opens the logs of the streams that are there. When this returns, that would survive a power cut.
    private func begin(
        _ session: Session, with streams: [StreamDescription]
    ) async throws -> RecordingStart.Reply {
        // To open the logs of a thousand streams takes a tenth of a second. The samples of other sessions have their turn meanwhile.
        for piece in streams.batches(of: Self.streamsAtOnce) {
            core.open(piece, of: session, at: now)
            perform()
            await Task.yield()
        }
        let isRunning = core.begin(session)
        try await commit()
        if isRunning, session.status == .running { core.publish(.status, of: session, at: now) }
        perform()
        try requireSound(session)
        // It works again.
        health.clear("session")
        logger.notice("recording started", metadata: ["session": "\(session.identifier)"])
        return RecordingStart.Reply(
            session: session.identifier.text, status: session.status.rawValue, logs: session.summaries)
    }

    /// Returns when everything that was written so far is durable, or can't become so, which its sessions say.
    private func commit() async throws {
        let block = core.commitNow(at: now)
        perform()
        try await wait { [core] in core.isCommitted(block) }
    }

    /// Waits until each pattern is known to have a stream, or every publisher has had the time to describe its own.
    private func waitForDescriptions(of patterns: Set<String>) async throws {
        var known = -1
        try await wait(until: startedAt + Self.descriptionsKnown.nanoseconds) { [self] in
            // Only a stream that was not known makes a difference.
            if core.described.count == known { return false }
            known = core.described.count
            return patterns.allSatisfy { !core.sources(of: [$0], at: now).isEmpty }
        }
    }

    func move(_ request: RecordingMoveTo) async throws -> RecordingState {
        try SessionRecord.check(request.step, "step")
        return try await change(request.session, .step) { session in
            session.move(to: request.step ?? "", at: now.date)
            return true
        }
    }

    func extend(_ request: RecordingExtend) async throws -> RecordingState {
        try await change(request.session) { session in
            session.extend(until: request.until, at: now)
                ? { [core] now in core.publish(.status, of: session, at: now) } : nil
        }
    }

    /// Saves a time of a session from its ring. When this returns, that would survive a power cut.
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
        try await change(request.session, .pause, of: request.stream) { try $0.pause(request.stream, at: now.date) }
    }

    func resume(_ request: RecordingResume) async throws -> RecordingState {
        try await change(request.session, .resume, of: request.stream) { try $0.resume(request.stream, at: now.date) }
    }

    /// Changes a session. When this returns, the change would survive a power cut.
    private func change(
        _ name: String, _ change: RecordingEvent.Change, of stream: StreamName? = nil, _ body: (Session) throws -> Bool
    ) async throws -> RecordingState {
        try await self.change(name) { session in
            try body(session) ? { [core] now in core.publish(change, of: session, at: now, stream: stream) } : nil
        }
    }

    /// Changes a session. When this returns, the change would survive a power cut.
    /// - Parameter body: returns what publishes the change, once that is durable; nil if nothing changed.
    func change(
        _ name: String, _ body: (Session) throws -> ((Moment) -> Void)?
    ) async throws -> RecordingState {
        let session = try await running(name)
        if !session.directory.directory.contains(SessionDirectory.recordName) {
            core.fail(session, RecordingError.removed(session.directory.directory.path), at: now)
            core.advance(at: now)
            perform()
        }
        try requireSound(session)
        let publish = try body(session)
        let state = session.state
        try await commit()
        try requireSound(session)
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

    private func requireSound(_ session: Session) throws(RequestError) {
        guard session.status == .failed else { return }
        throw RequestError(
            .inputOutput, "session \(session.identifier) failed: \(session.record.failures.joined(separator: "; "))")
    }

    /// Ends a session as cancelled, without asking for missing samples.
    func cancel(_ request: RecordingCancel) async throws -> RecordingState {
        let session = try await running(request.session)
        core.cancel(session, at: now)
        perform()
        try await waitForEnd(of: session)
        return session.state
    }

    /// Ends a session: every sample taken so far is in its logs when this returns.
    func stop(_ request: RecordingStop) async throws -> RecordingResult {
        let identifier = try SessionIdentifier(request.session)
        if let session = core.sessions[identifier] {
            if let results = request.results { try note(results, of: session) }
            core.stop(identifier, at: now)
            perform()
            try await waitForEnd(of: session)
        }
        return try await storedResult(request.session, with: request.results)
    }

    /// The end continues if whoever asked for it waits no longer.
    private func waitForEnd(of session: Session) async throws {
        try await wait { [core] in core.sessions[session.identifier] !== session }
    }

    /// Keeps what was answered so far. When this returns, that would survive a power cut.
    func setResults(_ request: RecordingSetResults) async throws -> RecordingState {
        let session = try await takingResults(request.session)
        try note(request.results, of: session)
        try await commit()
        return session.state
    }

    /// Adds a piece of a file to a session.
    func addFile(_ request: RecordingAddFile, _ bytes: [UInt8]) async throws -> RecordingAddFile.Reply {
        let session = try await takingResults(request.session)
        let offset = request.offset ?? 0
        try RequestError.require(offset >= 0, "offset is \(offset): write how many bytes were sent before, 0 or more")
        if let freeBytes, freeBytes < settings.minimumFree.bytes {
            throw RequestError(.noSpace, "the file is not kept: \(core.tooLittleRoom(freeBytes))")
        }
        let (directory, isLast) = (session.directory, request.more != true)
        let file = try await disk.run { try directory.add(bytes, to: request.name, at: offset, isLast: isLast) }
        return RecordingAddFile.Reply(
            session: request.session, name: request.name, bytes: file.bytes, sha256: file.sha256)
    }

    /// A session to which results and files can be added.
    private func takingResults(_ name: String) async throws -> Session {
        guard let session = try core.sessions[SessionIdentifier(name)] else {
            let (_, record) = try await stored(name)
            throw RequestError(
                .finished, "session \(name) is over (\(record.status)): it came too late to be kept with it")
        }
        guard session.takesResults else {
            throw RequestError(
                .finished, "session \(name) is \(session.status): it came too late to be kept with it")
        }
        return session
    }

    private func note(_ results: JSONValue, of session: Session) throws(RequestError) {
        do throws(MessageError) {
            _ = try TaskResults(results)
        } catch {
            throw RequestError(
                .invalidParameter, "\(error): the session continues; stop it with results that can be stored")
        }
        session.note(results: results)
    }

    func status(_ request: RecordingStatus) async throws -> RecordingState {
        let identifier = try SessionIdentifier(request.session)
        if let session = known(identifier) { return session.state }
        return RecordingState(try await stored(request.session).record)
    }

    /// What another recorder needs to continue a session.
    func plan(_ request: RecordingPlan) async throws -> RecordingPlan.Reply {
        let record =
            if let session = try known(SessionIdentifier(request.session)) { session.record } else {
                try await stored(request.session).record
            }
        return RecordingPlan.Reply(session: request.session, status: record.status.rawValue, plan: SessionPlan(record))
    }

    /// The sessions on disk, those under way included. Those that another shard's recorder has under way are its own.
    func list(_ request: RecordingList) async throws -> RecordingList.Reply {
        if let limit = request.limit {
            try RequestError.require(
                (1...RecordingList.maximumLimit).contains(limit),
                "limit is \(limit): write 1 to \(RecordingList.maximumLimit)")
        }
        // There may be thousands.
        let records = try await disk.run { [data, logger = runtime.logger] in
            try SessionDirectory.sessions(in: data).compactMap { identifier -> (SessionIdentifier, SessionRecord)? in
                do {
                    return (identifier, try SessionDirectory.open(identifier, in: data).record())
                } catch {
                    // One that was tampered with must not hide the others.
                    logger.warning(
                        "session passed over", metadata: ["session": "\(identifier)", LogKey.error: "\(error)"])
                    return nil
                }
            }
        }
        let entries = records.filter { isOwn($1) }.map { identifier, record in
            RecordingList.Entry(
                session: identifier.text, status: (known(identifier)?.status ?? record.status).rawValue,
                startDate: record.startDate, endDate: record.endDate)
        }
        let sorted = entries.sorted { ($0.startDate, $0.session) < ($1.startDate, $1.session) }
        var page = sorted[...]
        if let after = request.after {
            guard let index = sorted.firstIndex(where: { $0.session == after }) else {
                throw RequestError(
                    .invalidParameter, "there is no session '\(after)' any more: list from the beginning again")
            }
            page = sorted[(index + 1)...]
        }
        let limit = request.limit ?? page.count
        return RecordingList.Reply(recordings: Array(page.prefix(limit)), more: page.count > limit ? true : nil)
    }

    func result(_ request: RecordingResultRequest) async throws -> RecordingResult {
        if let session = try core.sessions[SessionIdentifier(request.session)] {
            throw RequestError(
                .notRunning, "session \(request.session) is \(session.status): its result exists once it is stopped")
        }
        var result = try await storedResult(request.session)
        if request.encoded == true { result.taskResult = try await taskResult(of: request.session) }
        return result
    }

    /// The encoded result of a session that is over.
    private func taskResult(of name: String) async throws -> JSONValue {
        if let session = try core.unstored[SessionIdentifier(name)] {
            let (directory, record) = (session.directory, session.record)
            return try await disk.run { try directory.taskResult(of: record) }
        }
        let (directory, record) = try await stored(name)
        return try await disk.run { try directory.taskResult(of: record) }
    }

    func running(_ name: String) async throws -> Session {
        guard let session = try core.sessions[SessionIdentifier(name)] else {
            let (_, record) = try await stored(name)
            throw RequestError(.finished, "session \(name) is over (\(record.status)): start another one")
        }
        guard session.status <= .running else {
            throw RequestError(.finished, "session \(name) is \(session.status) and takes no more")
        }
        return session
    }

    private func known(_ identifier: SessionIdentifier) -> Session? {
        core.sessions[identifier] ?? core.unstored[identifier]
    }

    /// A session that is on disk, and is over or this recorder's. To read that of a thousand streams takes so long that no sample
    /// may wait for it.
    private func stored(_ name: String) async throws -> (directory: SessionDirectory, record: SessionRecord) {
        try await disk.run { [self, data] in
            let directory = try SessionDirectory.open(SessionIdentifier(name), in: data)
            return (directory, try own(directory.record()))
        }
    }

    /// - Throws: if another shard's recorder records it now.
    private nonisolated func own(_ record: SessionRecord) throws(RequestError) -> SessionRecord {
        if isOwn(record) { return record }
        throw RequestError(
            .unknownSession,
            "session \(record.session) is recorded by the recorder \(Self.shardText(record)): ask that one")
    }

    /// How a session went that is over.
    /// - Parameter results: what must be kept with it. Results that arrive too late are refused, so that their sender knows.
    func storedResult(_ name: String, with results: JSONValue? = nil) async throws -> RecordingResult {
        func checkResults(of record: SessionRecord) throws(RequestError) {
            guard let results, record.results != results else { return }
            throw RequestError(
                .finished, "session \(name) is over, and its results came too late to be kept with it")
        }
        if let session = try core.unstored[SessionIdentifier(name)] {
            try checkResults(of: session.record)
            return RecordingResult(session.record, report: session.report, in: session.directory)
        }
        let (directory, record) = try await stored(name)
        try checkResults(of: record)
        guard record.status != .cancelled else {
            throw RequestError(
                .finished, "session \(name) was cancelled and has no result; recording.status says how far it came")
        }
        guard record.status.isOver else {
            throw RequestError(.notRunning, "session \(name) was interrupted (\(record.status)) and has no report")
        }
        return try await disk.run { RecordingResult(record, report: try directory.report(), in: directory) }
    }

    // MARK: Discarding

    /// Removes a session. When this returns, nothing would bring it back, also after a power cut.
    func discard(_ request: RecordingDiscard) async throws -> RecordingDiscard.Reply {
        let identifier = try SessionIdentifier(request.session)
        guard !starting.contains(identifier) else {
            throw RequestError(.notOver, "session \(identifier) is starting: stop or cancel it first")
        }
        let discard = try core.discard(identifier, isForced: request.force ?? false, at: now)
        perform()
        // What the write-ahead log has waits for other sessions: a disk that is full could hold it up without end.
        let deadline = now.monotonic + Self.discardLimit.nanoseconds
        try await wait(until: deadline) { discard.outcome != nil }
        if case .failure(let error) = discard.outcome { throw error }
        guard let line = discard.line, discard.isErased || discard.outcome != nil else {
            throw RequestError(.timedOut, "session \(identifier) is still being discarded: ask again", retryAfter: 5)
        }
        return RecordingDiscard.Reply(
            session: request.session, date: line.date, uploaded: line.uploaded, isComplete: discard.outcome != nil)
    }

    // MARK: Shards

    /// Whether a session is over, or this recorder's.
    private nonisolated func isOwn(_ record: SessionRecord) -> Bool {
        settings.shard == nil || record.shard == settings.shard || record.status.isOver
    }

    /// Refuses a session's name that another shard's recorder uses now.
    private func requireUntaken(_ identifier: SessionIdentifier) throws(RequestError) {
        guard let record = try? SessionDirectory.open(identifier, in: data).record(), !isOwn(record) else { return }
        throw RequestError(
            .alreadyRunning,
            "session \(identifier) is recorded by the recorder \(Self.shardText(record)): start one of another name")
    }

    static func shardText(_ record: SessionRecord) -> String {
        record.shard.map { "with shard \($0)" } ?? "without a shard"
    }
}
