import CZeroMQ

/// The I/O threads that a program's sockets share: one per process.
///
/// Every socket keeps its context alive, so a context ends only after its last socket has closed. It then waits until pending
/// messages are sent, for at most the sockets' `SocketOptions.linger` (zmq_ctx_term(3)).
public final class Context: Sendable {
    /// zmq_ctx_new(3): "A ØMQ context is thread safe and may be shared among as many application threads as necessary".
    nonisolated(unsafe) let handle: UnsafeMutableRawPointer
    /// The end of the context. Keep it and release everything else: when it comes, pending messages are sent.
    public let end = AwaitedEnd()
    /// The numbers of the sockets that refuse new connections.
    let fullSockets = FullSockets()
    /// Creates the guard of each socket's connections; nil for no guards.
    let makeGuard: (@Sendable (GuardedSocket) -> any ConnectionGuard)?

    /// Starts a context.
    /// - Parameters:
    ///   - ioThreads: background threads that move bytes; one handles about a gigabyte per second.
    ///   - maximumSockets: the limit of libzmq's open sockets. Each of ours takes three, because a pair of them monitors its
    ///     connections. Connections take file descriptors, not sockets, so peers do not count.
    public convenience init(ioThreads: Int = 1, maximumSockets: Int = 1_023) throws(ZeroMQError) {
        try self.init(ioThreads: ioThreads, maximumSockets: maximumSockets, guarding: nil)
    }

    /// Starts a context with guarded connections.
    /// - Parameter makeGuard: called for each socket, on the thread that its guard is then confined to.
    package init(
        ioThreads: Int = 1, maximumSockets: Int = 1_023,
        guarding makeGuard: (@Sendable (GuardedSocket) -> any ConnectionGuard)?
    ) throws(ZeroMQError) {
        guard let handle = zmq_ctx_new() else { throw .last(during: "zmq_ctx_new") }
        zmq_ctx_set(handle, ZMQ_IO_THREADS, Int32(clamping: ioThreads))
        zmq_ctx_set(handle, ZMQ_MAX_SOCKETS, Int32(clamping: maximumSockets))
        zmq_ctx_set(handle, ZMQ_IPV6, 0)
        self.handle = handle
        self.makeGuard = makeGuard
    }

    deinit {
        while zmq_ctx_term(handle) != 0, zmq_errno() == ZeroMQError.Code.interrupted.rawValue {}
        end.come()
    }
}
