import Files
import Logging
import MessageBus
import Messages
import RecorderCore
import Recording
import Runtime
import ServiceKit
import ZeroMQ

/// How a session begins.
extension RecordingEngine {
    /// Publishers describe their streams each second, so a recorder that has run this long knows all running ones, even on a busy
    /// machine.
    private static let descriptionsKnown = TimeSpan.seconds(3)
    /// How long a publisher may take to report its streams' positions: up to an end that is not reported, no samples are
    /// requested.
    static let listTimeout = Duration.seconds(3)
    /// Most logs that are opened at once.
    private static let streamsAtOnce = 50

    /// Starts a session. When this returns, every sample taken from now on will be recorded.
    func start(_ request: RecordingStart) async throws -> RecordingStart.Reply {
        let asked = try RequestedSession(
            request, shard: settings.shard, at: now.date, random: .random(in: .min ... .max))
        let identifier = asked.identifier
        try checkStart(of: identifier)
        var isMine = false
        defer { if isMine { core.starting[identifier] = nil } }
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
            // Another request may have started a session of this name meanwhile.
            try checkStart(of: identifier)
            isMine = true
            let position = core.logPosition
            core.starting[identifier] = position.written
            record.logPosition = position
            let directory = try await disk.run { [self, data, record] in
                restoreReserves()
                return try SessionDirectory.create(record, in: data)
            }
            session = try core.add(record, in: directory, at: now)
        } catch {
            await unsubscribe(from: patterns)
            if (error as? RecordingError)?.code == .alreadyExists {
                let known = try? await disk.run { [data] in try SessionDirectory.open(identifier, in: data).record() }
                try known?.checkUntaken(by: settings.shard)
                if let known { throw known.status.refusal(toStart: identifier) }
            }
            throw error
        }
        return try await begin(session, with: streams)
    }

    private func checkStart(of identifier: SessionIdentifier) throws {
        try core.checkStart(of: identifier)
        lookAtDisk()
        try core.checkRoom("nothing is recorded")
    }

    /// Asks log-manager about the logs of the streams with which a session begins.
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
        // Only a closed socket refuses, and it has no subscriptions.
        for pattern in patterns { try? await listener.unsubscribe(from: TopicArea.samples(of: pattern)) }
    }

    /// Opens the logs of existing streams. When this returns, the session survives a power cut.
    private func begin(
        _ session: Session, with streams: [StreamDescription]
    ) async throws -> RecordingStart.Reply {
        // Opening the logs of a thousand streams takes a tenth of a second. Samples of other sessions are taken meanwhile.
        for piece in streams.furthest.batches(of: Self.streamsAtOnce) {
            core.open(piece, of: session, at: now)
            perform()
            await Task.yield()
        }
        let isRunning = core.begin(session)
        try await commit()
        if isRunning, session.status == .running { core.publish(.status, of: session, at: now) }
        perform()
        try session.checkSound()
        // Recording works again.
        health.clear("session")
        logger.notice("recording started", metadata: ["session": "\(session.identifier)"])
        return RecordingStart.Reply(
            session: session.identifier.text, status: session.status.rawValue, logs: session.summaries)
    }

    /// Waits until each pattern has a known stream, or every publisher has had time to describe its streams.
    private func waitForDescriptions(of patterns: Set<String>) async throws {
        var known = -1
        try await wait(until: startedAt + Self.descriptionsKnown.nanoseconds) { [self] in
            // Only a newly described stream can change the result.
            if core.described.count == known { return false }
            known = core.described.count
            return patterns.allSatisfy { !core.sources(of: [$0], at: now).isEmpty }
        }
    }
}
