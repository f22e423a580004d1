import CMicroHTTPD
import Glibc
package import SystemPackage
import ZeroMQ

/// GNU libmicrohttpd on the caller's thread: receives requests with their bodies, and keeps each until it is answered.
///
/// What an unknown client can take is bounded: the number of connections, the memory and body size of each, and one request at a
/// time. A connection is closed if its request is not complete in time.
///
/// Confined to one thread. The library's callbacks are called on it, from within `turn(at:)`.
package final class WebDaemon {
    /// The pause after each turn, in nanoseconds: a connection that can't be accepted, because the process has no free
    /// file descriptors, must not keep the thread busy.
    package static let pause: Int64 = 1_000_000

    /// A connection: its request as far as received, and when it must end, on `MonotonicClock`.
    private struct Exchange {
        var end: Int64
        var request: WebRequest?
        /// Bytes of the body received so far.
        var bodyCount = 0
        var answer: WebResponse?
        var isWaiting = false
        /// The endless body being sent, and whether it waits for data.
        var feed: (any WebFeed)?
        var isIdle = false
        /// The session if the connection is a WebSocket, and its number among sockets once upgraded.
        var session: (any WebSocketSession)?
        var socket: Int?

        /// Whether the connection waits for the server, not for the browser.
        var isSuspended: Bool { isWaiting || isIdle }
    }

    /// A connection upgraded to a WebSocket.
    private struct Socket {
        let descriptor: Int32
        let handle: OpaquePointer
        let session: any WebSocketSession
        var reader: WebSocketReader
        var messages: [WebSocketReader.Message] = []
        /// Whether its messages are being handled; no more are read in the meantime.
        var isBusy = false
        /// The bytes being sent, and how many were.
        var output: [UInt8] = []
        var sent = 0
        /// When the client must have read some of these bytes, on `MonotonicClock`.
        var end = Int64.max
        var isReading = true
        var isWriting = false
    }

    /// The context of a feed's callbacks.
    private final class FeedReader {
        enum Source {
            case feed(any WebFeed)
            case file(WebFile)
        }

        unowned let daemon: WebDaemon
        let connection: OpaquePointer
        let source: Source

        init(_ daemon: WebDaemon, _ connection: OpaquePointer, _ source: Source) {
            self.daemon = daemon
            self.connection = connection
            self.source = source
        }
    }

    /// Limit of runs in a turn; the next turn continues.
    private static let maximumRuns = 8
    /// Bytes of a feed that are moved at a time.
    private static let feedBlock = 16 << 10
    /// The kernel's send buffer for a feed: small, so that a slow browser gets new events and not a backlog of old ones.
    private static let feedBuffer: Int32 = 128 << 10

    private let limits: WebLimits
    private let connectionLife: Int64
    /// Bytes of the bodies of all unanswered requests.
    private var bodies = 0
    private var daemon: OpaquePointer?
    private let handlers = UnsafeMutablePointer<holdfast_http_handlers>.allocate(capacity: 1)
    private var exchanges: [OpaquePointer: Exchange] = [:]
    private var sockets: [Int: Socket] = [:]
    private var lastSocket = 0
    /// Called with each request's header; returns a response to send before the body is read. It may set the request's user.
    package var admission: (inout WebRequest) -> WebResponse? = { _ in nil }
    /// Complete requests that were not taken yet.
    private var complete: [OpaquePointer] = []

    /// Serves a listening socket.
    /// - Parameter credentials: the certificate and key for TLS; nil for plain HTTP.
    /// - Throws: the system's error; `invalidArgument` if the credentials can't be used.
    package init(
        _ listener: consuming HTTPListener, limits: WebLimits, credentials: WebCredentials? = nil
    ) throws(Errno) {
        self.limits = limits
        connectionLife = limits.life.inNanoseconds
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
                },
                upgraded: { context, connection, bytes, length, socket, handle in
                    guard let context, let connection, let handle else { return }
                    let daemon = Unmanaged<WebDaemon>.fromOpaque(context).takeUnretainedValue()
                    daemon.open(connection, socket, handle, UnsafeRawBufferPointer(start: bytes, count: length))
                }))
        let socket = listener.take()
        daemon = holdfast_http_start(
            socket, limits.connections, limits.memory, credentials?.certificate, credentials?.key, handlers)
        guard let daemon else {
            let error = errno == 0 ? Errno.invalidArgument : Errno(rawValue: errno)
            Glibc.close(socket)
            throw error
        }
        descriptor = holdfast_http_waking_descriptor(daemon, &waker)
        if descriptor < 0 { throw Errno(rawValue: errno) }
    }

    deinit {
        for number in sockets.keys { close(number) }
        for (connection, exchange) in exchanges where exchange.isSuspended { MHD_resume_connection(connection) }
        if let daemon { MHD_stop_daemon(daemon) }
        if descriptor >= 0 {
            Glibc.close(descriptor)
            Glibc.close(waker)
        }
        for exchange in exchanges.values { exchange.feed?.end() }
        handlers.deallocate()
    }

    /// Readable when there is something to do.
    package private(set) var descriptor: Int32 = -1
    /// Makes the descriptor readable.
    private var waker: Int32 = -1

    /// The latest time of the next turn, on `MonotonicClock`; nil if no client is connected.
    package func deadline(at now: Int64) -> Int64? {
        // A suspended connection gets its time when it resumes, which may be while nobody reads the deadline.
        let ends = exchanges.values.lazy.filter { $0.socket == nil }.map {
            $0.isSuspended ? now + self.connectionLife : $0.end
        }
        let own = [ends.min(), sockets.values.lazy.map(\.end).min()].compactMap { $0 }.min()
        guard let daemon else { return own }
        let timeout = holdfast_http_timeout(daemon)
        return timeout < 0 ? own : min(own ?? .max, now + timeout * 1_000_000)
    }

    /// Does the work that is due.
    package func turn(at now: Int64) {
        holdfast_http_calm(waker)
        for (connection, exchange) in exchanges
        where exchange.end <= now && !exchange.isSuspended && exchange.socket == nil {
            // The library closes the connection once it finds that it can neither read nor write.
            shutdown(holdfast_http_socket(connection), Int32(SHUT_RDWR))
            exchanges[connection]?.end = .max
        }
        run()
        let open = sockets.count
        for number in sockets.keys { serve(number, at: now) }
        // The library accepts new connections in place of closed ones.
        if sockets.count < open { run() }
    }

    /// Removes and returns the requests that were completed since the last call.
    package func takeRequests() -> [(connection: OpaquePointer, request: WebRequest)] {
        defer { complete = [] }
        return complete.compactMap { connection in
            // The body is moved out too.
            exchanges[connection]?.request.take().map { (connection, $0) }
        }
    }

    /// Answers a taken request in the next turn; the descriptor becomes readable for that. The connection still exists, because
    /// it waits. Not answered at once: a request completed in the meantime would have to wait to be taken.
    package func answer(_ connection: OpaquePointer, _ response: WebResponse) {
        exchanges[connection]?.answer = response
        exchanges[connection]?.isWaiting = false
        exchanges[connection]?.end = MonotonicClock.now + connectionLife
        MHD_resume_connection(connection)
        holdfast_http_wake(waker)
    }

    /// Sends what waits in feeds in the next turn.
    func deliver(at now: Int64) {
        for (connection, exchange) in exchanges {
            guard exchange.isIdle, let feed = exchange.feed, !feed.isEmpty else { continue }
            exchanges[connection]?.isIdle = false
            exchanges[connection]?.end = now + connectionLife
            MHD_resume_connection(connection)
            holdfast_http_wake(waker)
        }
        if sockets.values.contains(where: { $0.output.isEmpty && !$0.session.isEmpty }) { holdfast_http_wake(waker) }
    }

    private func run() {
        guard let daemon else { return }
        // After the limit of connections was reached, the library listens again only in the run after the one that closes some. A
        // resumed connection ends only in the run after the one that sends its rest.
        var count: Int
        var runs = 0
        repeat {
            count = exchanges.count
            holdfast_http_run(daemon)
            runs += 1
        } while exchanges.count < count || holdfast_http_timeout(daemon) == 0 && runs < Self.maximumRuns
    }

    private func note(_ connection: OpaquePointer, isOpen: Bool) {
        exchanges[connection]?.feed?.end()
        exchanges[connection]?.session?.end()
        bodies -= exchanges[connection]?.bodyCount ?? 0
        exchanges[connection] = isOpen ? Exchange(end: MonotonicClock.now + connectionLife) : nil
    }

    private func begin(_ connection: OpaquePointer, _ path: String, _ method: String) -> Bool {
        var request = WebRequest(method: method, path: path)
        for name in WebServer.headers {
            request.headers[name] = holdfast_http_header(connection, name).map { String(cString: $0) }
        }
        for name in WebServer.arguments {
            request.arguments[name] = holdfast_http_argument(connection, name).map { String(cString: $0) }
        }
        if let answer = admission(&request) { return queue(answer, on: connection) }
        if let length = holdfast_http_header(connection, "content-length").map({ String(cString: $0) }),
            Int(length).map({ $0 > limits.body }) ?? true
        {
            return queue(.refusal(413, "tooLarge", "a body has at most \(limits.body) bytes"), on: connection)
        }
        guard bodies <= limits.bodies - limits.body else {
            return queue(
                .refusal(503, "busy", "too many requests are being read: try again in a second"), on: connection)
        }
        var peer = [CChar](repeating: 0, count: 64)
        holdfast_http_peer(connection, &peer, peer.count)
        request.peer = String(decoding: peer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        exchanges[connection]?.request = request
        return true
    }

    private func add(_ bytes: UnsafeRawBufferPointer, to connection: OpaquePointer) -> Bool {
        guard let count = exchanges[connection]?.request?.body.count, count + bytes.count <= limits.body,
            bodies + bytes.count <= limits.bodies
        else { return false }
        bodies += bytes.count
        exchanges[connection]?.bodyCount += bytes.count
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
        guard let response = response(answer.body, on: connection) else { return false }
        defer { MHD_destroy_response(response) }
        if case .socket = answer.body {
            for (name, value) in answer.headers { holdfast_http_add_header(response, name, value) }
            return holdfast_http_queue(connection, answer.status, response) != 0
        }
        let common = [
            ("Content-Type", answer.type), ("Connection", "close"), ("Cache-Control", "no-store"),
            ("Content-Security-Policy", "default-src 'self'; frame-ancestors 'none'"),
            ("X-Content-Type-Options", "nosniff"), ("Referrer-Policy", "no-referrer"),
        ]
        let own = Set(answer.headers.map(\.name))
        for (name, value) in common.filter({ !own.contains($0.0) }) + answer.headers {
            holdfast_http_add_header(response, name, value)
        }
        return holdfast_http_queue(connection, answer.status, response) != 0
    }

    private func response(_ body: WebResponse.Body, on connection: OpaquePointer) -> OpaquePointer? {
        switch body {
        case .bytes(let bytes): return bytes.withUnsafeBytes { holdfast_http_response($0.baseAddress, $0.count) }
        case .file(let file, let count): return response(of: count, .file(file), on: connection)
        case .feed(let feed):
            exchanges[connection]?.feed = feed
            var size = Self.feedBuffer
            setsockopt(
                holdfast_http_socket(connection), SOL_SOCKET, SO_SNDBUF, &size, socklen_t(MemoryLayout<Int32>.size))
            return response(of: -1, .feed(feed), on: connection)
        case .socket(let session):
            exchanges[connection]?.session = session
            return holdfast_http_upgrade(handlers)
        }
    }

    private func response(of count: Int, _ source: FeedReader.Source, on connection: OpaquePointer) -> OpaquePointer? {
        let reader = Unmanaged.passRetained(FeedReader(self, connection, source))
        let response = holdfast_http_feed(
            Int64(count), Self.feedBlock,
            { reader, place, buffer, room in
                guard let reader, let buffer else { return 0 }
                let feed = Unmanaged<FeedReader>.fromOpaque(reader).takeUnretainedValue()
                return feed.daemon.feed(
                    feed, Int64(place), UnsafeMutableRawBufferPointer(start: buffer, count: room))
            }, reader.toOpaque(),
            { reader in
                if let reader { Unmanaged<FeedReader>.fromOpaque(reader).release() }
            })
        if response == nil { reader.release() }
        return response
    }

    /// Fills a buffer with the next bytes to send; if there are none, the connection is suspended.
    private func feed(_ reader: FeedReader, _ place: Int64, _ buffer: UnsafeMutableRawBufferPointer) -> Int {
        let connection = reader.connection
        // The client reads what it is sent.
        exchanges[connection]?.end = MonotonicClock.now + connectionLife
        switch reader.source {
        case .file(let file):
            let count = (try? file.descriptor.read(fromAbsoluteOffset: place, into: buffer)) ?? 0
            return count > 0 ? count : Self.failure
        case .feed(let feed):
            let count = feed.take(into: buffer)
            if count == 0 {
                exchanges[connection]?.isIdle = true
                MHD_suspend_connection(connection)
            }
            return count
        }
    }

    /// Tells libmicrohttpd that a body can't be read.
    private static let failure = -2

    // MARK: WebSockets

    /// Removes and returns the messages received from WebSocket clients, in order. No more of a client are read before
    /// `resume(_:)`.
    package func takeMessages() -> [(socket: Int, session: any WebSocketSession, messages: [WebSocketReader.Message])] {
        sockets.compactMap { number, socket in
            guard !socket.isBusy, !socket.messages.isEmpty else { return nil }
            sockets[number]?.isBusy = true
            sockets[number]?.messages = []
            return (number, socket.session, socket.messages)
        }
    }

    /// Reads on after a client's messages were handled.
    package func resume(_ number: Int) {
        sockets[number]?.isBusy = false
        holdfast_http_wake(waker)
    }

    private func open(
        _ connection: OpaquePointer, _ descriptor: Int32, _ handle: OpaquePointer, _ bytes: UnsafeRawBufferPointer
    ) {
        guard let session = exchanges[connection]?.session else { return holdfast_http_close(handle) }
        lastSocket += 1
        exchanges[connection]?.socket = lastSocket
        var size = Self.feedBuffer
        setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        var socket = Socket(
            descriptor: descriptor, handle: handle, session: session, reader: WebSocketReader(limit: limits.body))
        socket.reader.append(bytes)
        sockets[lastSocket] = socket
        if holdfast_http_watch(self.descriptor, descriptor, 1, 1, 0) != 0 { close(lastSocket) }
        // If data arrives too late for this turn, the next one sends it.
        holdfast_http_wake(waker)
    }

    private func close(_ number: Int) {
        guard let socket = sockets.removeValue(forKey: number) else { return }
        socket.session.end()
        holdfast_http_close(socket.handle)
    }

    /// Reads what a client sent, and sends what waits for it.
    private func serve(_ number: Int, at now: Int64) {
        guard var socket = sockets[number] else { return }
        // Removed to avoid a copy of its buffers.
        sockets[number] = nil
        let isOpen = read(&socket) && write(&socket, at: now)
        let (reads, writes) = (!socket.isBusy && !socket.session.isOver, !socket.output.isEmpty)
        if isOpen, (reads, writes) != (socket.isReading, socket.isWriting) {
            (socket.isReading, socket.isWriting) = (reads, writes)
            _ = holdfast_http_watch(descriptor, socket.descriptor, 0, reads ? 1 : 0, writes ? 1 : 0)
        }
        sockets[number] = socket
        if !isOpen { close(number) }
    }

    /// - Returns: whether the connection stays open.
    private func read(_ socket: inout Socket) -> Bool {
        guard !socket.isBusy, !socket.session.isOver else { return true }
        var buffer = [UInt8](repeating: 0, count: Self.feedBlock)
        for _ in 0..<Self.maximumRuns {
            let count = recv(socket.descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
            if count == 0 { return false }
            if count < 0 {
                if errno != EAGAIN, errno != EINTR { return false }
                break
            }
            buffer.withUnsafeBytes { socket.reader.append(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
        }
        do throws(WebSocketReader.Fault) {
            while let message = try socket.reader.next() { socket.messages.append(message) }
        } catch {
            return false
        }
        return true
    }

    /// - Returns: whether the connection stays open.
    private func write(_ socket: inout Socket, at now: Int64) -> Bool {
        for _ in 0..<Self.maximumRuns {
            if socket.output.isEmpty {
                socket.sent = 0
                socket.output = [UInt8](unsafeUninitializedCapacity: Self.feedBlock) { buffer, count in
                    count = socket.session.take(into: UnsafeMutableRawBufferPointer(buffer))
                }
                guard !socket.output.isEmpty else {
                    socket.end = .max
                    return !socket.session.isOver
                }
                socket.end = now + connectionLife
            }
            let count = socket.output.withUnsafeBytes { bytes in
                let rest = bytes[socket.sent...]
                return send(
                    socket.descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count,
                    Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL))
            }
            if count < 0 { return (errno == EAGAIN || errno == EINTR) && now < socket.end }
            socket.sent += count
            socket.end = now + connectionLife
            if socket.sent == socket.output.count { socket.output = [] }
        }
        // More may wait than one turn sends.
        holdfast_http_wake(waker)
        return true
    }
}
