package import Files
package import Messages

extension SessionStatus {
    /// Why a second start is refused: `finished` once the session is over, `alreadyRunning` before.
    package func refusal(toStart session: SessionIdentifier) -> RecordingError {
        RecordingError(
            isOver ? .finished : .alreadyRunning, action: "start session \(session)", reason: "it is \(self)",
            advice: isOver
                ? "Start a session of another name; each is recorded once."
                : "Stop it first, or start a session of another name.")
    }
}
