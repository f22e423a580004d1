import Files
import Recording
import Testing

extension SessionDirectory {
    func recover(log: Directory? = nil, calls: FileCalls = .system) throws -> RecoveredSession {
        try #require(try SessionRecovery(of: [self], log: log, calls: calls).outcomes[session]).get()
    }
}
