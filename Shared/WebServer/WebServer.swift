import SystemPackage
import ZeroMQ

/// Serves requests over HTTP, on a thread of its own.
package actor WebServer {
    /// The headers that are kept in a request.
    static let headers = [
        "host", "origin", "cookie", "authorization", "x-holdfast", "upgrade", "connection", "sec-websocket-key",
        "sec-websocket-version", "sec-websocket-protocol",
    ]
    /// The query parameters that are kept in a request.
    static let arguments = [
        "token", "streams", "device", "stream", "from", "to", "columns", "search", "after", "format",
    ]

    private let thread: SocketThread
    private let daemon: WebDaemon
    package nonisolated let port: UInt16

    /// The server's own thread.
    package nonisolated var unownedExecutor: UnownedSerialExecutor { thread.unownedExecutor }

    /// Starts to listen.
    /// - Parameters:
    ///   - host: a name or an address of this machine, or `*` for all its IPv4 addresses.
    ///   - port: 0 for any free port.
    ///   - credentials: the certificate and key for TLS; nil for plain HTTP.
    /// - Throws: `Errno` if listening fails, `ZeroMQError` if the thread can't be started.
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
    ///   - admission: called with each request's header; returns the response if the request is refused or already answered.
    ///   - answer: called for each admitted request, for several at the same time.
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
                try await thread.sleep(until: MonotonicClock.now + WebDaemon.pause)
            }
        }
    }

    /// Sends what waits in feeds.
    package func deliver() { daemon.deliver(at: MonotonicClock.now) }

    private func resume(_ socket: Int) { daemon.resume(socket) }

    private func reply(to place: UInt, _ response: WebResponse) {
        guard let connection = OpaquePointer(bitPattern: place) else { return }
        daemon.answer(connection, response)
    }
}
