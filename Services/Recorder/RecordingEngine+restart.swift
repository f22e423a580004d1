import Logging
import Messages
import Recording
import ServiceKit
import ZeroMQ

/// What was cut off: sessions that a recorder was killed in, or a power cut ended.
extension RecordingEngine {
    /// Repairs the sessions that were cut off and goes on with them. Call it once, before anything else is done.
    ///
    /// One that can't be read is left as it is, and health says so.
    func goOnWithSessions() async throws {
        for identifier in try SessionDirectory.sessions(in: data) {
            do {
                let directory = try SessionDirectory.open(identifier, in: data)
                guard directory.needsRecovery() else { continue }
                let recovered = try directory.recover()
                try await goOn(with: Session(recovered, in: directory, resources: resources))
            } catch {
                logger.error(
                    "a session could not be gone on with",
                    metadata: ["session": "\(identifier)", LogKey.error: "\(error)"])
                health.report(.degraded, "session \(identifier) could not be gone on with: \(error)", for: "restart")
            }
        }
    }

    private func goOn(with session: Session) async throws {
        sessions[session.identifier] = session
        try await subscribe(to: Set(session.record.streams))
        logger.notice(
            "going on with a recording that was cut off",
            metadata: ["session": "\(session.identifier)", "status": "\(session.status)"])
        do {
            if session.status == .starting {
                // Nobody was told that it started.
                _ = session.fail("interrupted: the recorder ended while the session was being started")
                publish(.failure, of: session, reason: session.record.failures.last)
            } else if session.isRecording {
                try session.markRestart(at: .now)
                publish(.restart, of: session)
            }
        } catch {
            fail(session, error)
        }
        if session.status != .running { ordering.yield(.stop(session: session.identifier)) }
    }
}
