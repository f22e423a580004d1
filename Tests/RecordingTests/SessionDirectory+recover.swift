import Files
import Recording
import Testing

extension SessionDirectory {
    /// Recovers the session, with a write-ahead log or without.
    func recover(log: Directory? = nil, calls: FileCalls = .system) throws -> RecoveredSession {
        try #require(try SessionRecovery(of: [self], log: log, calls: calls).outcomes[session]).get()
    }
}
