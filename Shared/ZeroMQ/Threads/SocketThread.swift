import CZeroMQ

/// A thread that is the executor of actors: those that own sockets, and those that may block (a log writer).
///
/// Give an actor `unownedExecutor { thread.unownedExecutor }` and a stored `SocketThread`: the compiler then
/// proves that its sockets are used by this thread alone. The thread ends by itself when the last reference goes,
/// after the jobs that are already queued.
public final class SocketThread: Sendable {
    let loop: PollLoop

    /// Starts the thread.
    /// - Parameter name: shown by `top -H`; the kernel keeps 15 bytes.
    public init(name: String) throws(ZeroMQError) {
        loop = try PollLoop()
        let loop = loop
        try startThread(name: name) { loop.run() }
    }

    deinit { loop.stop() }

    /// What an actor on this thread returns from its own `unownedExecutor`.
    public var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// Waits until an instant of `MonotonicClock`, exact to about 0.1 ms. Call it on this thread only.
    /// - Throws: `CancellationError` if the task is cancelled first.
    public func sleep(until deadline: Int64) async throws {
        _ = try await wait(deadline: deadline)
    }

    /// Waits until an instant of `MonotonicClock`, or an interruption. Call it on this thread only.
    /// - Throws: `CancellationError` if the task is cancelled first.
    package func sleep(until deadline: Int64, interruptedBy interruption: Interruption) async throws {
        _ = try await wait(deadline: deadline, interruptedBy: interruption)
    }

    /// Waits until a file descriptor can be read, or a deadline on `MonotonicClock`. Call it on this thread only.
    /// - Returns: false if the deadline came first.
    /// - Throws: `CancellationError` if the task is cancelled first.
    public func readable(descriptor: Int32, deadline: Int64? = nil) async throws -> Bool {
        try await wait(descriptor: descriptor, deadline: deadline)
    }

    /// One wait, until something can be read unless `events` says otherwise.
    func wait(
        socket: UnsafeMutableRawPointer? = nil, descriptor: Int32 = -1, events: Int16 = Int16(ZMQ_POLLIN),
        deadline: Int64? = nil, interruptedBy interruption: Interruption? = nil
    ) async throws -> Bool {
        let wake = Wake<Bool>()
        let identifier = loop.watch(
            socket: socket, descriptor: descriptor, events: events, deadline: deadline, wake: wake)
        interruption?.end(wake)
        defer {
            interruption?.end(nil)
            loop.unwatch(identifier)
        }
        guard let isReady = await wake.next(on: self) else { throw CancellationError() }
        return isReady
    }
}
