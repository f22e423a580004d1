import Messages
import ServiceKit

extension RunningProgram {
    /// When a session of a recorder began.
    /// - Throws: `RequestError` if the recorder has no such session; `MessageError` if it does not answer, or does not report the
    ///   date.
    func start(of session: String, timeout: TimeSpan) async throws -> WallTime {
        guard let start = try await ask(RecordingStatus(session: session), timeout: timeout).startDate else {
            throw MessageError(
                .malformed, "the recorder does not report when session \(session) began: update the recorder")
        }
        return start
    }
}
