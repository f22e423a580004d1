package import ServiceKit
package import Triggers
import UnixSignals
import ZeroMQ

/// Records a session around each trigger, with a running recorder.
package struct WatchClient {
    private let engine: WatchEngine
    private let signals: UnixSignalsSequence

    /// - Parameters:
    ///   - subscribe: the publishers of samples.
    ///   - logManager: log-manager's endpoint for events.
    ///   - recorder: the recorder's endpoint for requests.
    /// - Throws: `ServiceError` if a key is missing, `ZeroMQError`.
    package init(
        _ expressions: [TriggerExpression], core: sending TriggerWatch, sessions: WatchedSessions,
        subscribe: [Endpoint], logManager: Endpoint, recorder: Endpoint, security: Security
    ) async throws {
        // Trapped first, so that a signal during connecting ends the watch like a later one.
        signals = await UnixSignalsSequence(trapping: .sigint, .sigterm)
        engine = try await WatchEngine(
            expressions, core: core, sessions: sessions,
            peers: Peers(context: try Context(), thread: try SocketThread(name: "bus"), security: security),
            subscribe: subscribe, logManager: logManager, recorder: recorder)
    }

    /// Watches until a stop signal, the end of the last session, or a socket error.
    /// - Returns: whether nothing was lost.
    package func watch() async throws -> Bool {
        try await runUntilSignal(
            signals, { try await engine.run() }, { try await engine.waitForEnd() },
            finish: { await engine.finish() })
        return await !engine.loss.isRaised
    }
}

/// Properties of the sessions besides their times.
package struct WatchedSessions: Sendable {
    let streams: [String]
    let task: String?
    /// A session with a ring that keeps the time around triggers; then no other sessions are recorded.
    let ring: String?

    package init(streams: [String], task: String?, ring: String?) {
        self.streams = streams
        self.task = task
        self.ring = ring
    }
}
