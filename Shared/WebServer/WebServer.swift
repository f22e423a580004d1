import SystemPackage
import ZeroMQ

/// Serves requests over HTTP, on a thread of its own.
package actor WebServer {
    /// The headers that a request keeps.
    static let headers = [
        "host", "origin", "cookie", "authorization", "x-holdfast", "upgrade", "connection", "sec-websocket-key",
        "sec-websocket-version", "sec-websocket-protocol",
    ]
    /// What a request keeps of what follows its path.
    static let arguments = [
        "token", "streams", "device", "stream", "from", "to", "columns", "search", "after", "format",
    ]
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
    ///   - host: a name or an address of this machine, or `*` for all its IPv4 addresses.
    ///   - port: 0 for any that is free.
    ///   - credentials: what to speak TLS with; nil for plain HTTP.
    /// - Throws: `Errno` if it can't be listened on, `ZeroMQError` if there is no thread for it.
    package init(
        host: String = "127.0.0.1", port: UInt16, limits: WebLimits = .browsers, credentials: WebCredentials? = nil
    ) throws {
        thread = try SocketThread(name: "web")
        let listener = try HTTPListener(host: host, port: port)
        self.port = listener.port
        daemon = try WebDaemon(listener, limits: limits, credentials: credentials)
    }

    /// Serves until the task is cancelled.
    /// - Parameters:
    ///   - admission: asked for each request's header: what it is answered if it is not to be carried out.
    ///   - answer: asked for each admitted request, several at the same time.
    package func run(
        admitting admission: @escaping @Sendable (inout WebRequest) -> WebResponse?,
        _ answer: @escaping @Sendable (WebRequest) async -> WebResponse
    ) async throws {
        daemon.admission = admission
        try await withThrowingDiscardingTaskGroup { group in
            while true {
                let deadline = daemon.deadline(at: MonotonicClock.now)
                _ = try await thread.readable(descriptor: daemon.descriptor, deadline: deadline)
                daemon.turn(at: MonotonicClock.now)
                for (connection, request) in daemon.takeRequests() {
                    let place = UInt(bitPattern: connection)
                    group.addTask { await self.reply(to: place, await answer(request)) }
                }
                for (number, session, messages) in daemon.takeMessages() {
                    group.addTask {
                        await session.receive(messages)
                        await self.resume(number)
                    }
                }
                try await thread.sleep(until: MonotonicClock.now + Self.pause)
            }
        }
    }

    /// Sends what feeds have.
    package func deliver() { daemon.deliver(at: MonotonicClock.now) }

    private func resume(_ socket: Int) { daemon.resume(socket) }

    private func reply(to place: UInt, _ response: WebResponse) {
        guard let connection = OpaquePointer(bitPattern: place) else { return }
        daemon.answer(connection, response)
    }
}
