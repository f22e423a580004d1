package import ZeroMQ

/// Confines a value that waits for the disk, or computes for long, to a thread of its own.
package actor OwnThread<Content> {
    private let content: Content
    private let thread: SocketThread

    package nonisolated var unownedExecutor: UnownedSerialExecutor { thread.unownedExecutor }

    /// - Parameter name: shown by `top -H`; the kernel keeps 15 bytes.
    package init(name: String, _ content: sending Content) throws(ZeroMQError) {
        thread = try SocketThread(name: name)
        self.content = content
    }

    package func run<Value: Sendable, Failure>(
        _ body: @Sendable (Content) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        try body(content)
    }

    /// - Returns: the error of `body`; nil if it succeeds.
    package func attempt<Failure>(_ body: @Sendable (Content) throws(Failure) -> Void) -> Failure? {
        do throws(Failure) {
            try body(content)
            return nil
        } catch {
            return error
        }
    }
}
