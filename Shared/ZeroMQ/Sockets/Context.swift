import CZeroMQ

/// The I/O threads that a program's sockets share: one per process.
///
/// Every socket keeps its context alive, so a context ends only when its last socket has closed; it then waits
/// until what the sockets still had to send has left, at most their `SocketOptions.linger` (zmq_ctx_term(3)).
public final class Context: Sendable {
    /// zmq_ctx_new(3): "A ØMQ context is thread safe and may be shared among as many application threads as necessary".
    nonisolated(unsafe) let handle: UnsafeMutableRawPointer
    /// Tells when the context has ended. Keep it, and let go of everything else: then what was sent has left.
    public let end = ContextEnd()
    /// The sockets that refuse new connections.
    let fullSockets = FullSockets()
    /// Makes what watches the connections of each of its sockets; nil if nothing does.
    let makeGuard: (@Sendable (GuardedSocket) -> any ConnectionGuard)?

    /// Starts a context.
    /// - Parameters:
    ///   - ioThreads: background threads that move bytes; one serves about a gigabyte per second.
    ///   - maximumSockets: sockets that may be open at once, three for each of ours: its connections are watched over a
    ///     pair of them. A connection is a file descriptor, not a socket, so peers have no part in it.
    public convenience init(ioThreads: Int = 1, maximumSockets: Int = 1_023) throws(ZeroMQError) {
        try self.init(ioThreads: ioThreads, maximumSockets: maximumSockets, guarding: nil)
    }

    /// Starts a context whose sockets' connections are watched.
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
