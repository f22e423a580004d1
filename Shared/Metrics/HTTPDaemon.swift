import CMicroHTTPD
import Glibc
import SystemPackage
import ZeroMQ

/// GNU libmicrohttpd serving one page, `/metrics`, on the thread that calls it.
///
/// What a stranger can take is bounded: so many connections, each with so much memory and one request, and ended after a
/// while whatever it does. Requests for the page wait until it is given to `answer(_:)`.
///
/// Confined to one thread. The library's callbacks come on it, from within `turn(at:)`.
final class HTTPDaemon {
    /// Connections at the same time; others wait in the kernel.
    private static let maximumConnections: UInt32 = 16
    /// Bytes for a connection's request; a longer one is refused (431).
    private static let connectionMemory = 8 << 10
    /// Where the page is.
    private static let path = "/metrics"

    /// How long a connection may be there, in nanoseconds.
    private let connectionLife: Int64
    private var daemon: OpaquePointer?
    /// What the library calls.
    private let handlers = UnsafeMutablePointer<holdfast_http_handlers>.allocate(capacity: 1)
    /// The connections and when each must end, on `MonotonicClock`.
    private var connections: [OpaquePointer: Int64] = [:]
    /// Connections that wait for the page.
    private var waiting: Set<OpaquePointer> = []
    /// The page, for those that waited.
    private var page: OpaquePointer?

    /// Serves a socket.
    /// - Parameter connectionLife: how long a connection may be there, in nanoseconds.
    init(_ listener: consuming HTTPListener, connectionLife: Int64) throws(Errno) {
        self.connectionLife = connectionLife
        let socket = listener.take()
        handlers.initialize(
            to: holdfast_http_handlers(
                context: Unmanaged.passUnretained(self).toOpaque(),
                request: { context, connection, path, method, stage, _, _ in
                    guard let context, let connection, let path, let method else { return 0 }
                    let daemon = Unmanaged<HTTPDaemon>.fromOpaque(context).takeUnretainedValue()
                    return daemon.answer(
                        connection, path: String(cString: path), method: String(cString: method), seen: stage != 0)
                        ? 1 : 0
                },
                note: { context, connection, isOpen in
                    guard let context, let connection else { return }
                    let daemon = Unmanaged<HTTPDaemon>.fromOpaque(context).takeUnretainedValue()
                    daemon.note(connection, isOpen: isOpen != 0)
                }))
        daemon = holdfast_http_start(socket, Self.maximumConnections, Self.connectionMemory, handlers)
        if daemon != nil { return }
        let error = Errno(rawValue: errno)
        close(socket)
        throw error
    }

    deinit {
        resume()
        if let daemon { MHD_stop_daemon(daemon) }
        if let page { MHD_destroy_response(page) }
        handlers.deallocate()
    }

    /// Can be read when there is something to do.
    var descriptor: Int32 { daemon.map(holdfast_http_descriptor) ?? -1 }

    /// When there is something to do at the latest, on `MonotonicClock`; nil if no client is connected.
    func deadline(at now: Int64) -> Int64? {
        let own = connections.lazy.filter { !self.waiting.contains($0.key) }.map(\.value).min()
        guard let daemon else { return own }
        let timeout = holdfast_http_timeout(daemon)
        return timeout < 0 ? own : min(own ?? .max, now + timeout * 1_000_000)
    }

    /// Whether nobody is connected.
    var isIdle: Bool { connections.isEmpty }

    /// Whether somebody waits for the page.
    var isWantingPage: Bool { !waiting.isEmpty }

    /// Does what there is to do.
    func turn(at now: Int64) {
        for (connection, end) in connections where end <= now && !waiting.contains(connection) {
            // The library ends it when it finds that there is nothing more to read and nowhere to write.
            shutdown(holdfast_http_socket(connection), Int32(SHUT_RDWR))
            connections[connection] = .max
        }
        run()
    }

    private func run() {
        guard let daemon else { return }
        // Where there were as many connections as may be, it listens again only in the run after the one that ends some.
        var count: Int
        repeat {
            count = connections.count
            holdfast_http_run(daemon)
        } while connections.count < count
    }

    /// Gives the page to everybody who waits for it.
    func answer(_ text: [UInt8]) {
        if let page { MHD_destroy_response(page) }
        page = Self.response(text, type: MetricsPage.contentType)
        resume()
        // Nothing else tells it.
        run()
    }

    private func resume() {
        for connection in waiting { MHD_resume_connection(connection) }
        waiting = []
    }

    private func note(_ connection: OpaquePointer, isOpen: Bool) {
        connections[connection] = isOpen ? MonotonicClock.now + connectionLife : nil
    }

    /// Called with a request's header, and again when the connection continues.
    /// - Returns: false if the connection is to end.
    private func answer(_ connection: OpaquePointer, path: String, method: String, seen: Bool) -> Bool {
        guard path == Self.path else {
            return refuse(connection, 404, "there is nothing here but \(Self.path)\n")
        }
        guard method == "GET" || method == "HEAD" else {
            return refuse(connection, 405, "\(Self.path) is to be read: GET or HEAD\n")
        }
        if seen {
            guard let page else { return false }
            return holdfast_http_queue(connection, 200, page) != 0
        }
        waiting.insert(connection)
        MHD_suspend_connection(connection)
        return true
    }

    private func refuse(_ connection: OpaquePointer, _ status: UInt32, _ text: String) -> Bool {
        guard let response = Self.response(Array(text.utf8), type: "text/plain; charset=utf-8") else { return false }
        defer { MHD_destroy_response(response) }
        if status == 405 { holdfast_http_add_header(response, "Allow", "GET, HEAD") }
        return holdfast_http_queue(connection, status, response) != 0
    }

    private static func response(_ text: [UInt8], type: String) -> OpaquePointer? {
        guard let response = text.withUnsafeBytes({ holdfast_http_response($0.baseAddress, $0.count) }) else {
            return nil
        }
        holdfast_http_add_header(response, "Content-Type", type)
        // One request each: whoever has a connection must not keep it.
        holdfast_http_add_header(response, "Connection", "close")
        return response
    }
}
