import ZeroMQ

/// Confines something that waits for the disk to a thread of its own.
actor HistoryThread<Content> {
    private let content: Content
    private let thread: SocketThread

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.unownedExecutor }

    init(name: String, _ content: sending Content) throws(ZeroMQError) {
        thread = try SocketThread(name: name)
        self.content = content
    }

    func run<Value: Sendable>(_ body: @Sendable (Content) throws -> Value) throws -> Value { try body(content) }

    /// - Returns: why it failed; nil if it did not.
    func attempt(_ body: @Sendable (Content) throws -> Void) -> (any Error)? {
        do {
            try body(content)
            return nil
        } catch {
            return error
        }
    }
}
