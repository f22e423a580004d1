import CZeroMQ
import Synchronization

/// A libzmq socket with a single owner, open from `open` until it is deinitialized.
///
/// Not Sendable: zmq_socket(3) forbids concurrent use by two threads. The owner (an actor on a `SocketThread`, or a mutex)
/// prevents that; zmq(7) allows the resulting migrations between threads, because both put a full memory barrier between two
/// uses.
struct Socket: ~Copyable {
    /// The socket types that Holdfast uses.
    enum Kind: Int32 {
        case pair = 0
        case publish = 1
        case subscribe = 2
        case request = 3
        case dealer = 5
        case router = 6

        var name: String {
            switch self {
            case .pair: "PAIR"
            case .publish: "PUB"
            case .subscribe: "SUB"
            case .request: "REQ"
            case .dealer: "DEALER"
            case .router: "ROUTER"
            }
        }
    }

    private static let lastNumber = Atomic<Int>(0)

    let handle: UnsafeMutableRawPointer
    /// Unique in the process.
    let number = lastNumber.add(1, ordering: .relaxed).newValue
    /// Keeps the context alive as long as its sockets.
    private let context: Context
    /// Keeps a server's authenticator alive as long as the server.
    private let security: SocketSecurity

    private init(handle: UnsafeMutableRawPointer, context: Context, security: SocketSecurity) {
        self.handle = handle
        self.context = context
        self.security = security
    }

    deinit { zmq_close(handle) }

    /// Opens a socket and sets all its limits.
    static func open(
        _ kind: Kind, in context: Context, options: SocketOptions
    ) throws(ZeroMQError) -> Socket {
        guard let handle = zmq_socket(context.handle, kind.rawValue) else {
            throw .last(during: "zmq_socket \(kind.name)")
        }
        let socket = Socket(handle: handle, context: context, security: options.security)
        try socket.set(ZMQ_LINGER, options.linger.inMilliseconds)
        // A subscriber sends only subscriptions; one beyond the high-water mark would be dropped silently.
        let sendHighWaterMark = kind == .subscribe ? 0 : max(1, options.sendHighWaterMark)
        try socket.set(ZMQ_SNDHWM, Int32(clamping: sendHighWaterMark))
        try socket.set(ZMQ_RCVHWM, Int32(clamping: max(1, options.receiveHighWaterMark)))
        if let size = options.receiveBuffer { try socket.set(ZMQ_RCVBUF, Int32(clamping: size)) }
        try socket.set(ZMQ_HANDSHAKE_IVL, options.handshakeLimit.inMilliseconds)
        try socket.set(ZMQ_MAXMSGSIZE, Int64(max(options.maximumFrameSize, options.security.longestCommand)))
        try socket.set(ZMQ_RECONNECT_IVL, options.reconnectInterval.inMilliseconds)
        try socket.set(ZMQ_RECONNECT_IVL_MAX, (options.reconnectInterval * 10).inMilliseconds)
        try socket.set(ZMQ_CONNECT_TIMEOUT, options.connectLimit.inMilliseconds)
        // A host that lost power closes no connections; they end when the kernel's probes go unanswered.
        try socket.set(ZMQ_TCP_KEEPALIVE, Int32(1))
        try socket.set(ZMQ_TCP_KEEPALIVE_IDLE, Int32(10))
        try socket.set(ZMQ_TCP_KEEPALIVE_INTVL, Int32(5))
        try socket.set(ZMQ_TCP_KEEPALIVE_CNT, Int32(3))
        if options.heartbeat > .zero {
            // libzmq 4.3.4 aborts (`!_io_error`) if a connection breaks whose peer is at the high-water mark when the next
            // heartbeat is due. Instead, the context's guard bounds what subscribers send.
            if kind == .publish { try socket.set(ZMQ_RCVHWM, Int32(0)) }
            try socket.set(ZMQ_HEARTBEAT_IVL, (options.heartbeat / 4).inMilliseconds)
            try socket.set(ZMQ_HEARTBEAT_TIMEOUT, options.heartbeat.inMilliseconds)
        }
        try socket.protect()
        if kind == .request {
            // After a timeout the socket stays usable, and the late reply is not mistaken for the next request's.
            try socket.set(ZMQ_REQ_RELAXED, Int32(1))
            try socket.set(ZMQ_REQ_CORRELATE, Int32(1))
            // Nothing is queued for an absent program: it would carry out the request when it returns, long after the client
            // gave up.
            try socket.set(ZMQ_IMMEDIATE, Int32(1))
        }
        if kind == .router {
            // A client that reconnects under the identity that it chose is served again.
            try socket.set(ZMQ_ROUTER_HANDOVER, Int32(1))
        }
        return socket
    }

    private func protect() throws(ZeroMQError) {
        switch security.mechanism {
        case .plain: break
        case .screened: try set(ZMQ_ZAP_DOMAIN, prefix: Newcomer.domain(ofSocket: number))
        case .server(let keys, _):
            try set(ZMQ_CURVE_SERVER, Int32(1))
            try set(ZMQ_CURVE_SECRETKEY, key: keys.secretKey)
            try set(ZMQ_ZAP_DOMAIN, prefix: Newcomer.domain(ofSocket: number))
        case .client(let keys, let server):
            try set(ZMQ_CURVE_SERVERKEY, key: server)
            try set(ZMQ_CURVE_PUBLICKEY, key: keys.publicKey)
            try set(ZMQ_CURVE_SECRETKEY, key: keys.secretKey)
        }
    }

    /// Leaves the key out of the error.
    private func set(_ option: Int32, key: CurveKey) throws(ZeroMQError) {
        if zmq_setsockopt(handle, option, key.text, key.text.utf8.count) != 0 {
            throw .last(during: "zmq_setsockopt \(option)")
        }
    }

    func set<Value: BitwiseCopyable>(_ option: Int32, _ value: Value) throws(ZeroMQError) {
        let result = withUnsafeBytes(of: value) { zmq_setsockopt(handle, option, $0.baseAddress, $0.count) }
        if result != 0 { throw .last(during: "zmq_setsockopt \(option)") }
    }

    func set(_ option: Int32, prefix: String) throws(ZeroMQError) {
        if zmq_setsockopt(handle, option, prefix, prefix.utf8.count) != 0 {
            throw .last(during: "zmq_setsockopt \(option) '\(prefix)'")
        }
    }

    /// Binds the socket, and returns the endpoint with the actual port instead of `*` or `0`.
    func bind(to endpoint: String) throws(ZeroMQError) -> String {
        try allowIPv6(of: endpoint)
        // A monitor that receives the failure may replace errno with EAGAIN, at most once a millisecond.
        var tries = 3
        while zmq_bind(handle, endpoint) != 0 {
            tries -= 1
            if tries == 0 || zmq_errno() != ZeroMQError.Code.wouldBlock.rawValue {
                throw .last(during: "zmq_bind \(endpoint)")
            }
        }
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 1_024) { text in
            var size = text.count
            guard zmq_getsockopt(handle, ZMQ_LAST_ENDPOINT, text.baseAddress, &size) == 0,
                let start = text.baseAddress
            else { return endpoint }
            return String(cString: start)
        }
    }

    func connect(to endpoint: String) throws(ZeroMQError) {
        try allowIPv6(of: endpoint)
        if zmq_connect(handle, endpoint) != 0 { throw .last(during: "zmq_connect \(endpoint)") }
    }

    /// IPv6 is enabled only for endpoints that name it: with the option, `*` would mean IPv6.
    private func allowIPv6(of endpoint: String) throws(ZeroMQError) {
        try set(ZMQ_IPV6, Int32(endpoint.hasPrefix("tcp://[") ? 1 : 0))
    }

    func disconnect(from endpoint: String) throws(ZeroMQError) {
        if zmq_disconnect(handle, endpoint) != 0 { throw .last(during: "zmq_disconnect \(endpoint)") }
    }

    /// Sends messages without waiting. A message that can't be queued now is dropped whole.
    /// - Throws: the first error, after all messages were tried.
    func send(_ batch: borrowing MessageBatch) throws(ZeroMQError) {
        var failure: ZeroMQError?
        batch.withUnsafeMessages { messages in
            for message in 0..<messages.count {
                do throws(ZeroMQError) { _ = try send(message, of: messages) } catch { failure = failure ?? error }
            }
        }
        if let failure { throw failure }
    }

    private func send(_ message: Int, of messages: UnsafeMessages) throws(ZeroMQError) -> Bool {
        try send(messages.frameCount(of: message)) { (index, more) in
            let frame = messages.frame(index, of: message)
            return zmq_send(handle, frame.baseAddress, frame.count, more)
        }
    }

    /// Sends one message without waiting.
    /// - Returns: false if the message can't be queued now; then nothing of it is sent.
    func send(_ frames: [[UInt8]]) throws(ZeroMQError) -> Bool {
        try send(frames.count) { (index, more) in zmq_send(handle, frames[index], frames[index].count, more) }
    }

    /// - Parameter sendFrame: sends the frame at an index with flags, and returns a negative number if it can't.
    private func send(_ count: Int, _ sendFrame: (Int, Int32) -> Int32) throws(ZeroMQError) -> Bool {
        for index in 0..<count {
            let more = index + 1 < count ? ZMQ_SNDMORE : 0
            while sendFrame(index, ZMQ_DONTWAIT | more) < 0 {
                let error = ZeroMQError.last(during: "zmq_send")
                if error.code == .interrupted { continue }
                if error.code == .wouldBlock, index == 0 { return false }
                throw error
            }
        }
        return true
    }

    /// Takes the next complete message, if there is one, and appends it to a batch.
    /// - Parameters:
    ///   - use: counts the message.
    ///   - topic: a prefix of topics; the origins of such messages are recorded. Empty for none.
    ///   - inspect: receives the last frame, from which properties of its connection can be read.
    /// - Returns: false if there is no message.
    @inline(__always)
    func receive(
        into batch: inout MessageBatch, counting use: inout SocketTraffic, tellingOriginsOf topic: [UInt8] = [],
        inspecting inspect: (inout zmq_msg_t) -> Void = { _ in }
    ) throws(ZeroMQError) -> Bool {
        // zmq_msg_t must not be copied after its initialization, so it stays in this local variable.
        var part = zmq_msg_t()
        zmq_msg_init(&part)
        defer { zmq_msg_close(&part) }
        var isFirst = true
        var descriptor: Int32 = -1
        var bytes = 0
        repeat {
            // libzmq delivers whole messages: after the first frame, the others are available.
            while zmq_msg_recv(&part, handle, ZMQ_DONTWAIT) < 0 {
                let error = ZeroMQError.last(during: "zmq_msg_recv")
                if error.code == .interrupted { continue }
                if error.code == .wouldBlock, isFirst { return false }
                throw error
            }
            let frame = UnsafeRawBufferPointer(start: zmq_msg_data(&part), count: zmq_msg_size(&part))
            if isFirst, !topic.isEmpty, frame.starts(with: topic), let address = zmq_msg_gets(&part, "Peer-Address") {
                batch.noteOrigin(String(cString: address))
            }
            // A ROUTER's first frame, created by libzmq, has it only if the socket's events were not queried since.
            if descriptor < 0 { descriptor = zmq_msg_get(&part, ZMQ_SRCFD) }
            isFirst = false
            // The maximum size of a frame on the wire: with its length, and encrypted.
            bytes += frame.count + 42
            batch.appendFrame(frame)
        } while zmq_msg_more(&part) != 0
        inspect(&part)
        batch.endMessage()
        use.take(bytes: bytes, from: descriptor)
        return true
    }

    /// Takes the next complete message of an in-process socket, if there is one.
    func receive(into batch: inout MessageBatch) throws(ZeroMQError) -> Bool {
        var unused = SocketTraffic()
        return try receive(into: &batch, counting: &unused)
    }

    /// Returns the counts, with whether every complete message has been taken by now, and resets them.
    func take(_ use: inout SocketTraffic) -> SocketTraffic {
        var events: Int32 = 0
        var size = MemoryLayout<Int32>.size
        zmq_getsockopt(handle, ZMQ_EVENTS, &events, &size)
        use.isDrained = events & Int32(ZMQ_POLLIN) == 0
        defer { use = SocketTraffic() }
        return use
    }
}
