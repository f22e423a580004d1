import CZeroMQ
import Glibc
import Synchronization

/// Counts what happens to a socket's connections, and cuts those that cost too much, from the events that libzmq sends
/// over an inproc PAIR.
///
/// The PAIR is read by a task on the socket thread, which ends when the monitored socket closes.
final class SocketMonitor: Sendable {
    private static let lastNumber = Atomic<Int>(0)
    private let counts = Counts()

    /// The counts so far.
    var events: ConnectionEvents { counts.state.withLock { $0.events } }

    /// The endpoints that the socket connected to and whose other side is there: it finished its handshake.
    var connectedEndpoints: Set<String> { counts.state.withLock { $0.connected } }

    /// Forgets an endpoint that the socket left: libzmq does not tell of that.
    func forget(_ endpoint: String) { _ = counts.state.withLock { $0.connected.remove(endpoint) } }

    /// Watches a socket.
    /// - Parameter pattern: what its peers send.
    init(
        of socket: borrowing Socket, as pattern: ConnectionTable.Pattern, limits: ConnectionLimits,
        in context: Context, on thread: SocketThread
    ) throws(ZeroMQError) {
        let number = Self.lastNumber.add(1, ordering: .relaxed).newValue
        let endpoint = "inproc://monitor-\(number)"
        guard zmq_socket_monitor(socket.handle, endpoint, ZMQ_EVENT_ALL) == 0 else {
            throw .last(during: "zmq_socket_monitor")
        }
        let pair = try Socket.open(.pair, in: context, options: SocketOptions())
        try pair.connect(to: endpoint)
        let watch = ConnectionWatch(
            pair, pattern: pattern, limits: limits, incidents: context.incidents, thread: thread)
        let counts = counts
        // The only task that nobody awaits: it ends with the socket it watches.
        Task {
            await watch.run { event in
                counts.take(event)
            } owner: {
                counts.owner
            }
        }
    }

    /// How many bytes have come over the last connection that was made.
    var received: Int { counts.state.withLock { $0.connection }?.reading?.received ?? 0 }

    /// Says who uses the socket: asked, as long as it is there, what it has taken out of it.
    /// - Parameter onDisconnect: called when a connection has ended.
    func setOwner(_ owner: any ConnectionUser, onDisconnect: (@Sendable () -> Void)? = nil) {
        counts.state.withLock { state in
            state.owner = WeakUser(owner)
            state.onDisconnect = onDisconnect
        }
    }

    /// Shared by the monitor and its reader, which outlives it by one event.
    private final class Counts: Sendable {
        struct State {
            var events = ConnectionEvents()
            var connected: Set<String> = []
            var owner: WeakUser?
            var onDisconnect: (@Sendable () -> Void)?
            /// The last one that the socket made.
            var connection: ConnectionHandle?
        }

        let state = Mutex(State())

        var owner: (any ConnectionUser)? { state.withLock { $0.owner?.user } }

        func take(_ event: ConnectionWatch.Event) {
            let onDisconnect = state.withLock { state in
                state.events.count(event.number)
                // Of a socket that listens these are its own.
                if event.number == ZMQ_EVENT_HANDSHAKE_SUCCEEDED { state.connected.insert(event.endpoint) }
                if event.number == ZMQ_EVENT_DISCONNECTED { state.connected.remove(event.endpoint) }
                if event.number == ZMQ_EVENT_CONNECTED, state.onDisconnect != nil {
                    state.connection = ConnectionHandle(
                        descriptor: event.value, endpoint: event.endpoint, isIncoming: false)
                }
                return event.number == ZMQ_EVENT_DISCONNECTED ? state.onDisconnect : nil
            }
            onDisconnect?()
        }
    }

    private struct WeakUser: Sendable {
        weak let user: (any ConnectionUser)?

        init(_ user: any ConnectionUser) { self.user = user }
    }
}

extension ConnectionEvents {
    fileprivate mutating func count(_ event: Int32) {
        switch event {
        case ZMQ_EVENT_ACCEPTED: accepted += 1
        case ZMQ_EVENT_CONNECTED: connected += 1
        case ZMQ_EVENT_DISCONNECTED: disconnected += 1
        case ZMQ_EVENT_CONNECT_RETRIED: retried += 1
        case ZMQ_EVENT_HANDSHAKE_SUCCEEDED: handshakes += 1
        case ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL, ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL,
            ZMQ_EVENT_HANDSHAKE_FAILED_AUTH:
            failedHandshakes += 1
        default: break
        }
    }
}
