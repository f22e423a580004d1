import CZeroMQ
import Synchronization

/// Counts what happens to a socket's connections, from the events that libzmq sends over an inproc PAIR.
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

    init(of socket: borrowing Socket, in context: Context, on thread: SocketThread) throws(ZeroMQError) {
        let number = Self.lastNumber.add(1, ordering: .relaxed).newValue
        let endpoint = "inproc://monitor-\(number)"
        guard zmq_socket_monitor(socket.handle, endpoint, ZMQ_EVENT_ALL) == 0 else {
            throw .last(during: "zmq_socket_monitor")
        }
        let reader = try Reader(context: context, thread: thread, endpoint: endpoint)
        // The only task that nobody awaits: it ends with the socket it watches.
        Task { [counts] in await reader.run(counting: counts) }
    }

    /// Shared by the monitor and its reader, which outlives it by one event.
    private final class Counts: Sendable {
        struct State {
            var events = ConnectionEvents()
            var connected: Set<String> = []
        }

        let state = Mutex(State())
    }

    private actor Reader {
        private let thread: SocketThread
        private let socket: Socket

        nonisolated var unownedExecutor: UnownedSerialExecutor { thread.unownedExecutor }

        init(context: Context, thread: SocketThread, endpoint: String) throws(ZeroMQError) {
            self.thread = thread
            socket = try Socket.open(.pair, in: context, options: SocketOptions())
            try socket.connect(to: endpoint)
        }

        /// Each event is two frames: number (16 bit) and value (32 bit), then the address.
        func run(counting counts: Counts) async {
            var batch = MessageBatch()
            while true {
                batch.removeAll()
                guard let isThere = try? socket.receive(into: &batch) else { return }
                guard isThere else {
                    guard (try? await thread.wait(socket: socket.handle)) != nil else { return }
                    continue
                }
                let (event, endpoint) = batch.withUnsafeMessages { messages -> (Int32, String) in
                    let frame = messages.frame(0, of: 0)
                    guard frame.count >= 2, messages.frameCount(of: 0) > 1 else { return (0, "") }
                    return (
                        Int32(frame.loadUnaligned(as: UInt16.self)),
                        String(decoding: messages.frame(1, of: 0), as: UTF8.self)
                    )
                }
                if event == ZMQ_EVENT_MONITOR_STOPPED { return }
                counts.state.withLock { state in
                    state.events.count(event)
                    // Of a socket that listens these are its own.
                    if event == ZMQ_EVENT_HANDSHAKE_SUCCEEDED { state.connected.insert(endpoint) }
                    if event == ZMQ_EVENT_DISCONNECTED { state.connected.remove(endpoint) }
                }
            }
        }
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
