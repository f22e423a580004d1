import CZeroMQ

/// A thread that is the executor of actors: of those that own sockets, and of those that may block, such as a file writer.
///
/// Give an actor `unownedExecutor { thread.unownedExecutor }` and a stored `SocketThread`: the compiler then proves that only
/// this thread uses its sockets. The thread ends by itself after the last reference is released and the queued jobs are done.
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

    /// The value for the `unownedExecutor` of an actor on this thread.
    public var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// Waits until an instant of `MonotonicClock`, exact to about 0.1 ms. Call it only on this thread.
    /// - Throws: `CancellationError` if the task is cancelled first.
    public func sleep(until deadline: Int64) async throws {
        _ = try await wait(deadline: deadline)
    }

    /// Waits until an instant of `MonotonicClock`, or an interruption. Call it only on this thread.
    /// - Throws: `CancellationError` if the task is cancelled first.
    package func sleep(until deadline: Int64, interruptedBy interruption: Interruption) async throws {
        _ = try await wait(deadline: deadline, interruptedBy: interruption)
    }

    /// Waits until a file descriptor is readable, or a deadline on `MonotonicClock`. Call it only on this thread.
    /// - Returns: false if the deadline came first.
    /// - Throws: `CancellationError` if the task is cancelled first.
    public func readable(descriptor: Int32, deadline: Int64? = nil) async throws -> Bool {
        try await wait(descriptor: descriptor, deadline: deadline)
    }

    /// Waits until the socket or descriptor is readable, or has other `events`.
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
