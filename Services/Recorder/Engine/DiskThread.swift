import Files
import ZeroMQ

/// Does what waits for the disk and is not a commit: where sessions begin, say. The writer must not wait, for it takes
/// what arrives, and neither must commits.
actor DiskThread {
    private let thread: SocketThread

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.unownedExecutor }

    init() throws(ZeroMQError) {
        thread = try SocketThread(name: "disk")
    }

    /// - Returns: why it failed; nil if it did not.
    func attempt(_ body: @Sendable () throws(RecordingError) -> Void) -> RecordingError? {
        RecordingError.thrown(by: body)
    }

    func run<Value: Sendable>(_ body: @Sendable () throws -> Value) throws -> Value { try body() }
}
