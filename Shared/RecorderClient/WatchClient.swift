package import ServiceKit
package import Triggers
import UnixSignals
import ZeroMQ

/// Has a running recorder record a session around each trigger.
package struct WatchClient {
    private let engine: WatchEngine
    private let signals: UnixSignalsSequence

    /// - Parameters:
    ///   - subscribe: where samples are published.
    ///   - logManager: where it publishes.
    ///   - recorder: where it answers.
    /// - Throws: `ServiceError` if a key is missing, `ZeroMQError`.
    package init(
        _ expressions: [TriggerExpression], core: sending TriggerWatch, sessions: WatchedSessions,
        subscribe: [Endpoint], logManager: Endpoint, recorder: Endpoint, security: Security
    ) async throws {
        // First, so that a signal while it connects ends it as one does later.
        signals = await UnixSignalsSequence(trapping: .sigint, .sigterm)
        engine = try await WatchEngine(
            expressions, core: core, sessions: sessions,
            peers: Peers(context: try Context(), thread: try SocketThread(name: "bus"), security: security),
            subscribe: subscribe, logManager: logManager, recorder: recorder)
    }

    /// Watches until a stop signal, the last session or a socket that fails.
    /// - Returns: whether nothing was lost.
    package func watch() async throws -> Bool {
        try await runUntilSignal(
            signals, { try await engine.run() }, { try await engine.waitForEnd() },
            finish: { await engine.finish() })
        return await !engine.loss.isRaised
    }
}

/// What is asked of sessions besides their time.
package struct WatchedSessions: Sendable {
    let streams: [String]
    let task: String?
    /// A session with a ring that keeps the time around triggers, in place of sessions.
    let ring: String?

    package init(streams: [String], task: String?, ring: String?) {
        self.streams = streams
        self.task = task
        self.ring = ring
    }
}
