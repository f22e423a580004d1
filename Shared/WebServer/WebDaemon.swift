import CMicroHTTPD
import Glibc
import SystemPackage
import ZeroMQ

/// GNU libmicrohttpd on the thread that calls it: takes requests with their bodies, and keeps each until it is answered.
///
/// What a stranger can take is bounded: so many connections, each with so much memory, one request and a body of so many bytes,
/// and ended after a while if its request is not complete by then.
///
/// Confined to one thread. The library's callbacks come on it, from within `turn(at:)`.
final class WebDaemon {
    /// A connection: its request as it comes in, and when it must end, on `MonotonicClock`.
    private struct Exchange {
        var end: Int64
        var request: WebRequest?
        var answer: WebResponse?
        var isWaiting = false
    }

    private let connectionLife: Int64
    private var daemon: OpaquePointer?
    private let handlers = UnsafeMutablePointer<holdfast_http_handlers>.allocate(capacity: 1)
    private var exchanges: [OpaquePointer: Exchange] = [:]
    /// Asked for each request's header: what is answered before its body is read.
    var admission: (WebRequest) -> WebResponse? = { _ in nil }
    /// Requests that are complete and not yet taken.
    private var complete: [OpaquePointer] = []

    /// Listens on a port of 127.0.0.1; 0 for any that is free.
    init(port: UInt16, connectionLife: Int64) throws(Errno) {
        self.connectionLife = connectionLife
        handlers.initialize(
            to: holdfast_http_handlers(
                context: Unmanaged.passUnretained(self).toOpaque(),
                request: { context, connection, path, method, stage, bytes, length in
                    guard let context, let connection, let path, let method else { return 0 }
                    let daemon = Unmanaged<WebDaemon>.fromOpaque(context).takeUnretainedValue()
                    let isKept =
                        switch stage {
                        case 0: daemon.begin(connection, String(cString: path), String(cString: method))
                        case 1: daemon.add(UnsafeRawBufferPointer(start: bytes, count: length), to: connection)
                        default: daemon.proceed(connection)
                        }
                    return isKept ? 1 : 0
                },
                note: { context, connection, isOpen in
                    guard let context, let connection else { return }
                    let daemon = Unmanaged<WebDaemon>.fromOpaque(context).takeUnretainedValue()
                    daemon.note(connection, isOpen: isOpen != 0)
                }))
        daemon = holdfast_http_start_on_loopback(
            port, WebServer.maximumConnections, WebServer.connectionMemory, handlers)
        if daemon == nil { throw Errno(rawValue: errno) }
    }

    deinit {
        for (connection, exchange) in exchanges where exchange.isWaiting { MHD_resume_connection(connection) }
        if let daemon { MHD_stop_daemon(daemon) }
        handlers.deallocate()
    }

    /// Where it listens.
    var port: UInt16 { daemon.map(holdfast_http_port) ?? 0 }

    /// Can be read when there is something to do.
    var descriptor: Int32 { daemon.map(holdfast_http_descriptor) ?? -1 }

    /// When there is something to do at the latest, on `MonotonicClock`; nil if no client is connected.
    func deadline(at now: Int64) -> Int64? {
        let own = exchanges.values.lazy.filter { !$0.isWaiting }.map(\.end).min()
        guard let daemon else { return own }
        let timeout = holdfast_http_timeout(daemon)
        return timeout < 0 ? own : min(own ?? .max, now + timeout * 1_000_000)
    }

    /// Does what there is to do.
    func turn(at now: Int64) {
        for (connection, exchange) in exchanges where exchange.end <= now && !exchange.isWaiting {
            // The library ends it when it finds that there is nothing more to read and nowhere to write.
            shutdown(holdfast_http_socket(connection), Int32(SHUT_RDWR))
            exchanges[connection]?.end = .max
        }
        run()
    }

    /// The requests that came in since.
    func takeRequests() -> [(connection: OpaquePointer, request: WebRequest)] {
        defer { complete = [] }
        return complete.compactMap { connection in exchanges[connection]?.request.map { (connection, $0) } }
    }

    /// Answers a request that was taken: it waits for that, so its connection is still there.
    func answer(_ connection: OpaquePointer, _ response: WebResponse) {
        exchanges[connection]?.answer = response
        exchanges[connection]?.isWaiting = false
        exchanges[connection]?.end = MonotonicClock.now + connectionLife
        MHD_resume_connection(connection)
        run()
    }

    private func run() {
        guard let daemon else { return }
        // Where there were as many connections as may be, it listens again only in the run after the one that ends some.
        var count: Int
        repeat {
            count = exchanges.count
            holdfast_http_run(daemon)
        } while exchanges.count < count
    }

    private func note(_ connection: OpaquePointer, isOpen: Bool) {
        exchanges[connection] = isOpen ? Exchange(end: MonotonicClock.now + connectionLife) : nil
    }

    private func begin(_ connection: OpaquePointer, _ path: String, _ method: String) -> Bool {
        var request = WebRequest(method: method, path: path)
        for name in WebServer.headers {
            request.headers[name] = holdfast_http_header(connection, name).map { String(cString: $0) }
        }
        if let length = holdfast_http_header(connection, "content-length").map({ String(cString: $0) }),
            Int(length).map({ $0 > WebServer.maximumBody }) ?? true
        {
            return queue(.refusal(413, "tooLarge", "a body has at most \(WebServer.maximumBody) bytes"), on: connection)
        }
        request.token = holdfast_http_argument(connection, "token").map { String(cString: $0) }
        if let answer = admission(request) { return queue(answer, on: connection) }
        exchanges[connection]?.request = request
        return true
    }

    private func add(_ bytes: UnsafeRawBufferPointer, to connection: OpaquePointer) -> Bool {
        guard let count = exchanges[connection]?.request?.body.count, count + bytes.count <= WebServer.maximumBody
        else {
            return false
        }
        exchanges[connection]?.request?.body += bytes
        return true
    }

    private func proceed(_ connection: OpaquePointer) -> Bool {
        if let answer = exchanges[connection]?.answer { return queue(answer, on: connection) }
        exchanges[connection]?.isWaiting = true
        complete.append(connection)
        MHD_suspend_connection(connection)
        return true
    }

    private func queue(_ answer: WebResponse, on connection: OpaquePointer) -> Bool {
        guard let response = answer.body.withUnsafeBytes({ holdfast_http_response($0.baseAddress, $0.count) }) else {
            return false
        }
        defer { MHD_destroy_response(response) }
        let common = [
            ("Content-Type", answer.type), ("Connection", "close"), ("Cache-Control", "no-store"),
            ("Content-Security-Policy", "default-src 'self'; frame-ancestors 'none'"),
            ("X-Content-Type-Options", "nosniff"), ("Referrer-Policy", "no-referrer"),
        ]
        for (name, value) in common + answer.headers { holdfast_http_add_header(response, name, value) }
        return holdfast_http_queue(connection, answer.status, response) != 0
    }
}
