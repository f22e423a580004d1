import Messages
import ServiceKit

extension RunningProgram {
    /// When a session of a recorder began.
    /// - Throws: `RequestError` if it has no such session; `MessageError` if it does not answer, or does not say it.
    func start(of session: String, timeout: TimeSpan) async throws -> WallTime {
        guard let start = try await ask(RecordingStatus(session: session), timeout: timeout).startDate else {
            throw MessageError(.malformed, "the recorder does not say when session \(session) began: update it")
        }
        return start
    }
}
