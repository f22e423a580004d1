import SystemPackage
import ZeroMQ

/// Serves requests over HTTP on the loopback interface, on a thread of its own.
package actor WebServer {
    /// Connections at the same time; others wait in the kernel.
    package static let maximumConnections: UInt32 = 64
    /// Bytes for a connection's request line and headers; longer ones are refused (414, 431).
    package static let connectionMemory = 16 << 10
    /// Bytes of a request's body; a longer one is refused (413), or its connection ends where it did not say its length.
    package static let maximumBody = 1 << 20
    /// The headers that a request keeps.
    static let headers = ["host", "origin", "cookie", "x-holdfast"]
    /// The pause after a turn, in nanoseconds: a connection that can't be taken, because the process has no more files, must not
    /// keep the thread busy.
    private static let pause: Int64 = 1_000_000

    private let thread: SocketThread
    private let daemon: WebDaemon
    /// Where it listens.
    package nonisolated let port: UInt16

    /// The thread that serves.
    package nonisolated var unownedExecutor: UnownedSerialExecutor { thread.unownedExecutor }

    /// Listens.
    /// - Parameters:
    ///   - port: of 127.0.0.1; 0 for any that is free.
    ///   - token: what browsers must show; nil for nothing.
    ///   - connectionLife: how long a request may take to come in, and an answer to be read.
    /// - Throws: `Errno` if it can't be listened on, `ZeroMQError` if there is no thread for it.
    package init(port: UInt16, token: String?, connectionLife: Duration = .seconds(30)) throws {
        thread = try SocketThread(name: "web")
        daemon = try WebDaemon(port: port, connectionLife: connectionLife.inNanoseconds)
        self.port = daemon.port
        let admission = WebAdmission(port: daemon.port, token: token)
        daemon.admission = { admission.answer(to: $0) }
    }

    /// Serves until the task is cancelled.
    /// - Parameter answer: asked for each admitted request, several at the same time.
    package func run(_ answer: @escaping @Sendable (WebRequest) async -> WebResponse) async throws {
        try await withThrowingDiscardingTaskGroup { group in
            while true {
                let deadline = daemon.deadline(at: MonotonicClock.now)
                _ = try await thread.readable(descriptor: daemon.descriptor, deadline: deadline)
                daemon.turn(at: MonotonicClock.now)
                for (connection, request) in daemon.takeRequests() {
                    let place = UInt(bitPattern: connection)
                    group.addTask { await self.reply(to: place, await answer(request)) }
                }
                try await thread.sleep(until: MonotonicClock.now + Self.pause)
            }
        }
    }

    private func reply(to place: UInt, _ response: WebResponse) {
        guard let connection = OpaquePointer(bitPattern: place) else { return }
        daemon.answer(connection, response)
    }
}
