import CZeroMQ
import Synchronization

/// A PUB socket that any thread may publish on, synchronously.
///
/// The socket moves between threads under a mutex, whose full memory barrier is what zmq(7) asks of a migration.
/// Publishing never waits: for a subscriber whose queue is at `SocketOptions.sendHighWaterMark` libzmq drops the
/// message without a word. So number what you publish, and keep it for those who ask again.
public final class Publisher: ConnectionUser {
    private let socket: Mutex<Socket>
    private let monitor: SocketMonitor?

    /// Opens the socket.
    /// - Parameter thread: reads the socket's connection events, to count them and to hold peers to
    ///   `SocketOptions.limits`; without it neither is done.
    public init(
        context: Context, thread: SocketThread? = nil, options: SocketOptions = .publishing
    ) throws(ZeroMQError) {
        var options = options
        // A small buffer needs somebody who makes room for small packets.
        if thread == nil { options.receiveBuffer = nil }
        let socket = try Socket.open(.publish, in: context, options: options)
        monitor = try thread.map { (thread) throws(ZeroMQError) in
            try SocketMonitor(of: socket, as: .publish, limits: options.connectionLimits, in: context, on: thread)
        }
        self.socket = Mutex(socket)
        monitor?.setOwner(self)
    }

    /// What happened to the socket's connections so far.
    public var connectionEvents: ConnectionEvents { monitor?.events ?? ConnectionEvents() }

    /// Listens on an endpoint, and returns it with its real port where `*` was asked.
    public func bind(to endpoint: String) throws(ZeroMQError) -> String {
        try socket.withLock { (socket) throws(ZeroMQError) in try socket.bind(to: endpoint) }
    }

    /// Connects to a subscriber that listens (a proxy, say).
    public func connect(to endpoint: String) throws(ZeroMQError) {
        try socket.withLock { (socket) throws(ZeroMQError) in try socket.connect(to: endpoint) }
    }

    /// Sends one message to every subscriber of a prefix of its first frame. The bytes are copied.
    public func publish(_ frames: UnsafeBufferPointer<UnsafeRawBufferPointer>) throws(ZeroMQError) {
        let lent = LentFrames(frames: frames)
        _ = try socket.withLock { (socket) throws(ZeroMQError) in try socket.send(lent.frames) }
    }

    /// Sends one message to every subscriber of a prefix of its first frame.
    public func publish(_ frames: [[UInt8]]) throws(ZeroMQError) {
        _ = try socket.withLock { (socket) throws(ZeroMQError) in try socket.send(frames) }
    }

    func takeTraffic() -> SocketTraffic { SocketTraffic() }

    // Declared as the protocol does: a function that is not async would run where its caller does.
    @concurrent
    func settle() async {
        socket.withLock { socket in
            var use = SocketTraffic()
            _ = socket.take(&use)
        }
    }

    /// Unchecked, because the frames are lent for one call only: the socket copies their bytes and keeps no pointer.
    private struct LentFrames: @unchecked Sendable {
        let frames: UnsafeBufferPointer<UnsafeRawBufferPointer>
    }
}
