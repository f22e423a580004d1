import CZeroMQ
import Synchronization

/// Counts what happens to a socket's connections, from the events that libzmq sends over an inproc PAIR.
///
/// The PAIR is read by a task on the socket thread, which ends when the monitored socket closes.
final class SocketMonitor: Sendable {
    private static let lastNumber = Atomic<Int>(0)
    private let counts = Counts()

    /// The counts so far.
    var events: ConnectionEvents { counts.events.withLock { $0 } }

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
        let events = Mutex(ConnectionEvents())
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
                let event = batch.withUnsafeMessages { messages -> Int32 in
                    let frame = messages.frame(0, of: 0)
                    return frame.count >= 2 ? Int32(frame.loadUnaligned(as: UInt16.self)) : 0
                }
                if event == ZMQ_EVENT_MONITOR_STOPPED { return }
                counts.events.withLock { $0.count(event) }
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
