import SystemPackage
import WebServer
import ZeroMQ

/// Serves `GET /metrics` over HTTP, on a thread of its own.
///
/// Plain HTTP: every client that reaches the port can read the metrics. Clients take at most a few connections and their
/// memory, and never delay the program's work.
///
/// Unlike `WebServer`, it makes one page at a time: while a program gathers its counts for one page, another would lack
/// them.
package actor MetricsServer {
    private static let path = "/metrics"

    private let thread: SocketThread
    private let daemon: WebDaemon
    package nonisolated let port: UInt16

    package nonisolated var unownedExecutor: UnownedSerialExecutor { thread.unownedExecutor }

    /// Opens the server's socket.
    /// - Parameters:
    ///   - host: a name or an address of this machine, or `*` for all its IPv4 addresses.
    ///   - port: 0 for a free port.
    ///   - connectionLife: the maximum life of a connection; by default the time that Prometheus allows for a scrape.
    /// - Throws: `Errno` if the address can't be bound, `ZeroMQError` if no thread can be started.
    package init(host: String, port: UInt16, connectionLife: Duration = WebLimits.scrapes.life) throws {
        let listener = try HTTPListener(host: host, port: port)
        self.port = listener.port
        thread = try SocketThread(name: "metrics")
        daemon = try WebDaemon(listener, limits: .scrapes.lasting(connectionLife))
        daemon.admission = { Self.refusal(of: $0) }
    }

    /// Serves until the task is cancelled.
    /// - Parameter page: called for each batch of requests; requests that arrive meanwhile get the next page.
    package func run(_ page: @Sendable () async -> MetricsPage) async throws {
        while true {
            let deadline = daemon.deadline(at: MonotonicClock.now)
            _ = try await thread.readable(descriptor: daemon.descriptor, deadline: deadline)
            daemon.turn(at: MonotonicClock.now)
            let requests = daemon.takeRequests()
            if !requests.isEmpty {
                let response = WebResponse(type: MetricsPage.contentType, body: await page().text)
                for (connection, _) in requests { daemon.answer(connection, response) }
            }
            try await thread.sleep(until: MonotonicClock.now + WebDaemon.pause)
        }
    }

    private static func refusal(of request: WebRequest) -> WebResponse? {
        func refusal(_ status: UInt32, _ text: String) -> WebResponse {
            WebResponse(status: status, type: "text/plain; charset=utf-8", body: Array(text.utf8))
        }
        guard request.path == path else { return refusal(404, "only \(path) is served here\n") }
        guard request.method == "GET" || request.method == "HEAD" else {
            var response = refusal(405, "\(path) can only be read: use GET or HEAD\n")
            response.headers = [("Allow", "GET, HEAD")]
            return response
        }
        return nil
    }
}
