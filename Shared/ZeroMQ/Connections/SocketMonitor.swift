import CZeroMQ
import Synchronization

/// Counts a socket's connection events, which libzmq sends over an inproc PAIR, and passes them to the context's guard.
///
/// A task on the socket thread reads the PAIR; it ends when the monitored socket closes.
final class SocketMonitor: Sendable {
    private let state: Shared

    var events: ConnectionEvents { state.value.withLock(\.events) }

    /// The connected endpoints whose handshake has completed.
    var connectedEndpoints: Set<String> { state.value.withLock(\.connected) }

    /// Bytes received over the most recent outgoing connection; 0 if it has ended, or is not TCP.
    var received: Int { state.value.withLock(\.connection)?.reading?.received ?? 0 }

    init(
        of socket: borrowing Socket, as pattern: GuardedSocket.Pattern, options: SocketOptions, in context: Context,
        on thread: SocketThread
    ) throws(ZeroMQError) {
        let endpoint = "inproc://monitor-\(socket.number)"
        // The PAIR is opened first, because it may fail: libzmq's thread that closes sockets waits forever to send the last
        // event of a monitor that has no reader (libzmq#2829).
        let pair = try Socket.open(.pair, in: context, options: SocketOptions())
        guard zmq_socket_monitor(socket.handle, endpoint, ZMQ_EVENT_ALL) == 0 else {
            throw .last(during: "zmq_socket_monitor")
        }
        try pair.connect(to: endpoint)
        let state = Shared()
        self.state = state
        let reader = Reader(pair, ofSocket: socket.number, in: context.fullSockets, on: thread)
        let socket = GuardedSocket(pattern: pattern, options: options)
        // No task awaits it; it ends with the monitored socket.
        Task { [makeGuard = context.makeGuard] in
            await reader.run(into: state) { makeGuard?(socket) }
        }
    }

    /// Removes an endpoint that the socket disconnected from, because libzmq sends no event for it.
    func forget(_ endpoint: String) { _ = state.value.withLock { $0.connected.remove(endpoint) } }

    /// Sets the socket's user, whose traffic is queried as long as it exists.
    /// - Parameters:
    ///   - onDisconnect: called when a connection has ended.
    ///   - onHandshake: called when a handshake has succeeded.
    func setOwner(
        _ owner: any ConnectionUser, onDisconnect: (@Sendable () -> Void)? = nil,
        onHandshake: (@Sendable () -> Void)? = nil
    ) {
        state.value.withLock { state in
            state.owner = WeakUser(owner)
            state.onDisconnect = onDisconnect
            state.onHandshake = onHandshake
        }
    }

    /// Owns the PAIR.
    private actor Reader {
        private let thread: SocketThread
        private let socket: Socket
        /// The number of the watched socket.
        private let number: Int
        private let fullSockets: FullSockets

        nonisolated var unownedExecutor: UnownedSerialExecutor { thread.unownedExecutor }

        init(
            _ pair: consuming Socket, ofSocket number: Int, in fullSockets: FullSockets, on thread: SocketThread
        ) {
            socket = pair
            self.number = number
            self.fullSockets = fullSockets
            self.thread = thread
        }

        /// Reads events until the watched socket closes.
        func run(into state: Shared, guarding makeGuard: @Sendable () -> (any ConnectionGuard)?) async {
            let connectionGuard = makeGuard()
            defer { fullSockets.set(false, number) }
            var batch = MessageBatch()
            while true {
                batch.removeAll()
                guard let hasMessage = try? socket.receive(into: &batch) else { return }
                let now = MonotonicClock.now
                if hasMessage {
                    let event = batch.withUnsafeMessages { ConnectionEvent($0) }
                    if case .stopped = event.kind { return }
                    state.take(event)
                    connectionGuard?.take(event, at: now)
                    fullSockets.set(connectionGuard?.isFull ?? false, number)
                    continue
                }
                if let next = connectionGuard?.nextLook, now >= next {
                    await connectionGuard?.look(at: now) { await state.owner?.takeTraffic() ?? SocketTraffic() }
                    fullSockets.set(connectionGuard?.isFull ?? false, number)
                }
                let next = connectionGuard?.nextLook
                guard (try? await thread.wait(socket: socket.handle, deadline: next)) != nil else { return }
            }
        }
    }

    /// Shared by the monitor and its reader, which outlives it by one event.
    private final class Shared: Sendable {
        struct State {
            var events = ConnectionEvents()
            var connected: Set<String> = []
            var owner: WeakUser?
            var onDisconnect: (@Sendable () -> Void)?
            var onHandshake: (@Sendable () -> Void)?
            /// The most recent outgoing connection.
            var connection: ConnectionHandle?
        }

        let value = Mutex(State())

        var owner: (any ConnectionUser)? { value.withLock { $0.owner?.user } }

        func take(_ event: ConnectionEvent) {
            let tell = value.withLock { state -> (@Sendable () -> Void)? in
                state.events.count(event.kind)
                switch event.kind {
                // For a bound socket, the endpoints are its own.
                case .handshakeSucceeded:
                    state.connected.insert(event.endpoint)
                    return state.onHandshake
                case .connected: state.connection = event.handle
                case .disconnected:
                    state.connected.remove(event.endpoint)
                    return state.onDisconnect
                default: break
                }
                return nil
            }
            tell?()
        }
    }

    private struct WeakUser: Sendable {
        weak let user: (any ConnectionUser)?

        init(_ user: any ConnectionUser) { self.user = user }
    }
}
