import Logging
import Messages
import Recording
import ServiceKit
import ZeroMQ

/// What is asked: the methods of a recorder.
extension RecordingEngine {
    /// Publishers describe their streams each second, so a recorder that ran this long knows all that are there.
    private static let descriptionsKnown = TimeSpan.milliseconds(1_500)
    /// A publisher that has not described a stream for this long is gone: asking it would only hold up a start.
    private static let descriptionLife = TimeSpan.seconds(5)
    /// How long a publisher may take to say where its streams are.
    private static let listTimeout = Duration.seconds(1)
    /// How long what was published before a stop may travel before it is asked for again.
    private static let travelTime = TimeSpan.milliseconds(300)
    /// How long sessions may wait for their publishers when the program ends: less than `ServiceRunner.drainLimit`, so
    /// that their files are finished within it.
    private static let lastWait = TimeSpan.seconds(3)

    /// Starts a session. When this returns, every sample taken from now on will be recorded.
    func start(_ request: RecordingStart) async throws -> RecordingStart.Reply {
        let (identifier, format, root) = try validate(request)
        try checkStart(of: identifier)
        let patterns = Set(request.streams)
        let session: Session
        let streams: [StreamDescription]
        do {
            try await subscribe(to: patterns)
            try await waitForDescriptions(of: patterns)
            let startDate = WallTime.now
            streams = await publishers.streams(at: sources(of: patterns), timeout: Self.listTimeout)
            // Others may have started a session of this name meanwhile.
            try checkStart(of: identifier)
            session = try Session(
                identifier, request: request, format: format, root: root, startDate: startDate, data: data,
                commitThread: commitThread, maximumHeldBytes: settings.holdLimit)
        } catch {
            await unsubscribe(from: patterns)
            throw error
        }
        // From here on its end takes back what it has.
        sessions[identifier] = session
        routes = []
        return try begin(session, with: streams)
    }

    private func checkStart(of identifier: SessionIdentifier) throws {
        guard lastCall == nil else { throw RequestError(.stopping, "the recorder is stopping: start another one") }
        try sessions[identifier]?.status.checkStart(of: identifier)
    }

    private func subscribe(to patterns: Set<String>) async throws {
        for pattern in patterns { try await subscriber.subscribe(to: TopicArea.samples + pattern) }
    }

    private func unsubscribe(from patterns: Set<String>) async {
        // Only a socket that is gone refuses, and it has no subscriptions.
        for pattern in patterns { try? await subscriber.unsubscribe(from: TopicArea.samples + pattern) }
    }

    /// Opens the logs of the streams that are there, each from where it stands.
    private func begin(_ session: Session, with streams: [StreamDescription]) throws -> RecordingStart.Reply {
        for description in streams.sorted(by: { $0.topic < $1.topic }) where session.wants(description.name) {
            stream(for: description, in: session)?.intake.start(
                epoch: description.epoch, at: description.nextSequence)
        }
        do {
            if try session.rise(to: .running) { publish(.status, of: session) }
        } catch {
            fail(session, error)
        }
        if session.status == .failed {
            throw RequestError(
                .inputOutput, "session \(session.identifier) failed: \(session.failures.joined(separator: "; "))")
        }
        logger.notice("recording started", metadata: ["session": "\(session.identifier)"])
        return RecordingStart.Reply(
            session: session.identifier.text, status: session.status.name, logs: session.summaries)
    }

    private func validate(
        _ request: RecordingStart
    ) throws -> (SessionIdentifier, format: LogFormat, root: JSONRoot) {
        func refuse(_ message: String) -> RequestError { RequestError(.invalidParameter, message) }
        guard !request.streams.isEmpty else {
            throw refuse(
                "streams is empty: name at least one, as \"device/stream\", or \"device/\" for all of a device")
        }
        for pattern in request.streams {
            let isDevice = pattern.hasSuffix("/") && StreamName(pattern + "x") != nil
            guard isDevice || StreamName(pattern) != nil else {
                throw refuse(
                    "'\(pattern)' names no stream: write \"device/stream\", or \"device/\" for all of a device")
            }
        }
        guard let format = LogFormat(rawValue: request.format ?? LogFormat.json.rawValue) else {
            throw refuse("'\(request.format ?? "")' is not a format: write json, csv or tsv")
        }
        guard let root = JSONRoot(rawValue: request.root ?? JSONRoot.array.rawValue) else {
            throw refuse("'\(request.root ?? "")' is not a root: write array or dictionary")
        }
        if let duration = request.duration, !(duration > 0 && duration < 1e9) {
            throw refuse("duration is \(duration): write seconds greater than 0")
        }
        if request.maximumFileSize != nil || request.maximumFileAge != nil {
            throw RequestError(
                .unsupported, "log files are not split yet: leave out maximumFileSize and maximumFileAge")
        }
        let identifier =
            try request.session.map { try SessionIdentifier($0) }
            ?? SessionIdentifier(startedAt: .now, random: .random(in: .min ... .max))
        return (identifier, format, root)
    }

    /// Waits until each pattern is known to have a stream, or every publisher has had the time to describe its own.
    private func waitForDescriptions(of patterns: Set<String>) async throws {
        let deadline = startedAt + Self.descriptionsKnown.nanoseconds
        while MonotonicClock.now < deadline {
            if patterns.allSatisfy({ !sources(of: [$0]).isEmpty }) { return }
            try await thread.sleep(until: MonotonicClock.now + 10_000_000)
        }
    }

    /// Where the publishers answer that have streams of these patterns now.
    private func sources(of patterns: Set<String>) -> Set<String> {
        let oldest = MonotonicClock.now - Self.descriptionLife.nanoseconds
        return described.reduce(into: []) { sources, entry in
            let (source, heard) = entry
            if heard >= oldest, patterns.contains(where: source.name.matches) { sources.insert(source.replay) }
        }
    }

    /// Goes on to another step.
    func move(_ request: RecordingMoveTo) throws -> RecordingState {
        try change(request.session, .step) { session in
            try session.move(to: request.step ?? "", at: .now)
            return true
        }
    }

    /// Leaves out samples taken from now on.
    func pause(_ request: RecordingPause) throws -> RecordingState {
        try change(request.session, .pause) { try $0.pause(at: .now) }
    }

    /// Writes samples again.
    func resume(_ request: RecordingResume) throws -> RecordingState {
        try change(request.session, .resume) { try $0.resume(at: .now) }
    }

    private func change(
        _ name: String, _ change: RecordingEvent.Change, _ body: (Session) throws -> Bool
    ) throws -> RecordingState {
        let session = try running(name)
        do {
            if try body(session) { publish(change, of: session) }
        } catch {
            fail(session, error)
            throw error
        }
        return session.state
    }

    /// How a session goes, or went.
    func status(_ request: RecordingStatus) throws -> RecordingState {
        if let session = try sessions[SessionIdentifier(request.session)] { return session.state }
        let directory = try stored(request.session)
        return RecordingState(try directory.record(), report: try? directory.report())
    }

    /// The sessions on disk, those under way included.
    func list() throws -> RecordingList.Reply {
        let entries = try SessionDirectory.sessions(in: data).compactMap { identifier -> RecordingList.Entry? in
            do {
                let record = try SessionDirectory.open(identifier, in: data).record()
                return RecordingList.Entry(
                    session: identifier.text, status: (sessions[identifier]?.status ?? record.status).name,
                    startDate: record.startDate, endDate: record.endDate)
            } catch {
                // One that was tampered with must not hide the others.
                logger.warning(
                    "session passed over", metadata: ["session": "\(identifier)", LogKey.error: "\(error)"])
                return nil
            }
        }
        return RecordingList.Reply(recordings: entries.sorted { $0.startDate < $1.startDate })
    }

    /// How a session went.
    func result(_ request: RecordingResultRequest) throws -> RecordingResult {
        if let session = try sessions[SessionIdentifier(request.session)] {
            throw RequestError(
                .notRunning, "session \(request.session) is \(session.status): its result is there once it is stopped")
        }
        return try storedResult(request.session)
    }

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
            // Carried out apart from the request, whose time limit must not cut a session's end short.
            ordering.yield(.stop(session: identifier))
            while sessions[identifier] === session { try await thread.sleep(until: MonotonicClock.now + 2_000_000) }
        }
        return try storedResult(request.session)
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
            while sessions[identifier] === session {
                guard (try? await thread.sleep(until: MonotonicClock.now + 10_000_000)) != nil else { return }
            }
            return
        }
        rise(session, to: .waitingToStop)
        if session.status == .waitingToStop { await settle(session) }
        await close(session)
    }

    /// Waits until every sample taken before the stop has arrived, or was given up.
    private func settle(_ session: Session) async {
        let asked = session.order.reduce(into: Set()) { $0.formUnion(session.streams[$1]?.publishers ?? []) }
        for description in await publishers.streams(at: asked, timeout: Self.listTimeout)
        where session.status == .waitingToStop && session.wants(description.name) {
            guard let stream = stream(for: description, in: session) else { continue }
            stream.intake.end(epoch: description.epoch, before: description.nextSequence)
            stream.isEndKnown = true
        }
        let streams = session.order.compactMap { session.streams[$0] }
        // What is under way first; what has not come by then is asked for.
        await wait(for: session, atMost: Self.travelTime) {
            streams.allSatisfy { $0.isEndKnown && $0.intake.isComplete }
        }
        // As long as something comes: a recorder that hung may have much to catch up with.
        var settled = -1
        while settled < streams.reduce(0, { $0 + $1.received + $1.lost }), !streams.allSatisfy(\.intake.isComplete) {
            settled = streams.reduce(0) { $0 + $1.received + $1.lost }
            await wait(for: session, atMost: settings.recoveryLimit) {
                for stream in streams where stream.intake.expectEnd() { recover(stream, of: session) }
                return streams.allSatisfy(\.intake.isComplete)
            }
        }
        for pattern in session.record.streams where !session.order.contains(where: { $0.matches(pattern) }) {
            session.failures.append("there was no stream '\(pattern)' while the session ran")
        }
    }

    private func wait(for session: Session, atMost limit: TimeSpan, until isOver: () -> Bool) async {
        let deadline = MonotonicClock.now + limit.nanoseconds
        while session.status == .waitingToStop, !isOver(), MonotonicClock.now < min(deadline, lastCall ?? .max) {
            guard (try? await thread.sleep(until: MonotonicClock.now + 2_000_000)) != nil else { return }
        }
    }

    /// Finishes a session's files, writes its report and forgets it.
    private func close(_ session: Session) async {
        rise(session, to: .processingResults)
        routes = []
        let streams = session.order.compactMap { session.streams[$0] }
        // What is still waited for has not come in time; what waits behind it goes to the log.
        attempt(session) {
            for stream in streams {
                while stream.intake.recovery != nil || stream.intake.expectEnd() {
                    try stream.giveUp(.publisherUnreachable, timeline: session.timeline)
                }
            }
        }
        for stream in streams { announceGaps(of: stream, in: session) }
        await commit(session, isLast: true)
        let end = WallTime.now
        for stream in streams { attempt(session) { try session.finishFile(of: stream, at: end) } }
        for stream in streams { announceFiles(of: stream, in: session) }
        var isFinished = false
        attempt(session) { isFinished = try session.finish(.finished, at: end) }
        // The first attempt may be what failed.
        if session.status == .failed { attempt(session) { _ = try session.finish(.failed, at: end) } }
        if isFinished { publish(.status, of: session) }
        let report = session.report
        publish(.report, of: session, report: report)
        if !report.isWhole { loss.raise() }
        sessions[session.identifier] = nil
        await unsubscribe(from: Set(session.record.streams))
        logger.notice(
            "recording ended",
            metadata: ["session": "\(session.identifier)", "status": "\(session.status)", "whole": "\(report.isWhole)"])
    }

    /// Lets a session's status rise, and tells everybody.
    private func rise(_ session: Session, to status: SessionStatus) {
        attempt(session) { if try session.rise(to: status) { publish(.status, of: session) } }
    }

    /// Does something that may fail a session but must not keep it from its end.
    private func attempt(_ session: Session, _ body: () throws -> Void) {
        do {
            try body()
        } catch {
            fail(session, error)
        }
    }

    private func announceFiles(of stream: StreamRecording, in session: Session) {
        for (index, file) in stream.entry.files.enumerated() {
            publish(
                SegmentFinished(
                    source: Self.source, sequence: index, session: session.identifier.text, log: stream.entry.name.text,
                    path: session.directory.relativePath(of: file.name), bytes: file.bytes, samples: file.samples,
                    sha256: file.sha256))
        }
    }

    private func running(_ name: String) throws -> Session {
        guard let session = try sessions[SessionIdentifier(name)] else {
            let status = try stored(name).record().status
            throw RequestError(.finished, "session \(name) is over (\(status)): start another one")
        }
        guard session.status <= .running else {
            throw RequestError(.finished, "session \(name) is \(session.status) and takes no more")
        }
        return session
    }

    private func stored(_ name: String) throws(RecordingError) -> SessionDirectory {
        try SessionDirectory.open(SessionIdentifier(name), in: data)
    }

    private func storedResult(_ name: String) throws -> RecordingResult {
        let directory = try stored(name)
        let record = try directory.record()
        guard record.status.isOver else {
            throw RequestError(
                .notRunning, "session \(name) was cut off (\(record.status)) and has no report")
        }
        return try RecordingResult(record, report: directory.report(), in: directory)
    }
}
