import CZeroMQ
import Synchronization

/// One libzmq socket with one owner: open from `open` to the end of its life.
///
/// Not Sendable: zmq_socket(3) forbids use by two threads at once. Whoever owns it (an actor on a `SocketThread`,
/// or a mutex) is what makes it safe, and zmq(7) allows the moves between threads that this implies, since both
/// put a full memory barrier between two uses.
struct Socket: ~Copyable {
    /// The patterns that Holdfast speaks.
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
    /// Which of the process's sockets it is.
    let number = lastNumber.add(1, ordering: .relaxed).newValue
    /// Held so that the context can't end before its sockets.
    private let context: Context
    /// Held so that a server's authenticator stays as long as the server.
    private let security: SocketSecurity

    private init(handle: UnsafeMutableRawPointer, context: Context, security: SocketSecurity) {
        self.handle = handle
        self.context = context
        self.security = security
    }

    deinit { zmq_close(handle) }

    /// Opens a socket with every bound set.
    static func open(
        _ kind: Kind, in context: Context, options: SocketOptions
    ) throws(ZeroMQError) -> Socket {
        guard let handle = zmq_socket(context.handle, kind.rawValue) else {
            throw .last(during: "zmq_socket \(kind.name)")
        }
        let socket = Socket(handle: handle, context: context, security: options.security)
        try socket.set(ZMQ_LINGER, options.linger.inMilliseconds)
        // What a subscriber sends is subscriptions: one that is over the mark would be dropped without a word.
        let sendHighWaterMark = kind == .subscribe ? 0 : max(1, options.sendHighWaterMark)
        try socket.set(ZMQ_SNDHWM, Int32(clamping: sendHighWaterMark))
        try socket.set(ZMQ_RCVHWM, Int32(clamping: max(1, options.receiveHighWaterMark)))
        if let size = options.receiveBuffer { try socket.set(ZMQ_RCVBUF, Int32(clamping: size)) }
        try socket.set(ZMQ_HANDSHAKE_IVL, options.handshakeLimit.inMilliseconds)
        try socket.set(ZMQ_MAXMSGSIZE, Int64(max(options.maximumFrameSize, options.security.longestCommand)))
        try socket.set(ZMQ_RECONNECT_IVL, options.reconnectInterval.inMilliseconds)
        try socket.set(ZMQ_RECONNECT_IVL_MAX, (options.reconnectInterval * 10).inMilliseconds)
        try socket.set(ZMQ_CONNECT_TIMEOUT, options.connectLimit.inMilliseconds)
        // A host that lost power closes nothing; its connections end when the kernel's probes go unanswered.
        try socket.set(ZMQ_TCP_KEEPALIVE, Int32(1))
        try socket.set(ZMQ_TCP_KEEPALIVE_IDLE, Int32(10))
        try socket.set(ZMQ_TCP_KEEPALIVE_INTVL, Int32(5))
        try socket.set(ZMQ_TCP_KEEPALIVE_CNT, Int32(3))
        if options.heartbeat > .zero {
            // libzmq 4.3.4 aborts (`!_io_error`) where a connection breaks whose peer is at the mark and the next heartbeat
            // is due. What a subscriber may send is for the context's guard to bound.
            if kind == .publish { try socket.set(ZMQ_RCVHWM, Int32(0)) }
            try socket.set(ZMQ_HEARTBEAT_IVL, (options.heartbeat / 4).inMilliseconds)
            try socket.set(ZMQ_HEARTBEAT_TIMEOUT, options.heartbeat.inMilliseconds)
        }
        try socket.protect()
        if kind == .request {
            // A request that timed out leaves the socket usable, and its late reply is not taken for the next one's.
            try socket.set(ZMQ_REQ_RELAXED, Int32(1))
            try socket.set(ZMQ_REQ_CORRELATE, Int32(1))
            // Nothing waits for a program that is away: it would be carried out when that is back, long after its asker gave up.
            try socket.set(ZMQ_IMMEDIATE, Int32(1))
        }
        if kind == .router {
            // A client that comes back under the identity it chose is served again.
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

    /// The key is not in the error.
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

    /// Listens, and returns where: the endpoint with its real port where `*` or `0` was asked.
    func bind(to endpoint: String) throws(ZeroMQError) -> String {
        try allowIPv6(of: endpoint)
        // A monitor that is told of the failure may put EAGAIN in its place, at most once a millisecond.
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

    /// Only for endpoints that say it: with the option, `*` would be IPv6's.
    private func allowIPv6(of endpoint: String) throws(ZeroMQError) {
        try set(ZMQ_IPV6, Int32(endpoint.hasPrefix("tcp://[") ? 1 : 0))
    }

    func disconnect(from endpoint: String) throws(ZeroMQError) {
        if zmq_disconnect(handle, endpoint) != 0 { throw .last(during: "zmq_disconnect \(endpoint)") }
    }

    /// Sends messages without waiting. One that can't be queued now is dropped whole.
    /// - Throws: the first error, when all were tried.
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

    /// Sends one message of the given frames without waiting.
    /// - Returns: false if the message can't be queued now (nothing of it was sent).
    func send(_ frames: [[UInt8]]) throws(ZeroMQError) -> Bool {
        try send(frames.count) { (index, more) in zmq_send(handle, frames[index], frames[index].count, more) }
    }

    /// - Parameter sendFrame: sends the frame of an index with flags, and returns less than 0 if it can't.
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

    /// Takes the next whole message, if there is one now, and appends it to a batch.
    /// - Parameters:
    ///   - use: counts it.
    ///   - topic: what the topics of messages begin with whose origins are told; empty for none.
    ///   - inspect: shown the last frame, from which properties of its connection can be read.
    /// - Returns: false if there is none.
    @inline(__always)
    func receive(
        into batch: inout MessageBatch, counting use: inout SocketTraffic, tellingOriginsOf topic: [UInt8] = [],
        inspecting inspect: (inout zmq_msg_t) -> Void = { _ in }
    ) throws(ZeroMQError) -> Bool {
        // zmq_msg_t must not be copied after it was initialised, so it stays this local variable.
        var part = zmq_msg_t()
        zmq_msg_init(&part)
        defer { zmq_msg_close(&part) }
        var isFirst = true
        var descriptor: Int32 = -1
        var bytes = 0
        repeat {
            // libzmq delivers a message whole: after its first frame, the others are there.
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
            // A ROUTER's first frame, which it makes itself, says it only if nobody has asked for the socket's events meanwhile.
            if descriptor < 0 { descriptor = zmq_msg_get(&part, ZMQ_SRCFD) }
            isFirst = false
            // What a frame takes on the wire at most: with its length, and encrypted.
            bytes += frame.count + 42
            batch.appendFrame(frame)
        } while zmq_msg_more(&part) != 0
        inspect(&part)
        batch.endMessage()
        use.take(bytes: bytes, from: descriptor)
        return true
    }

    /// Takes the next whole message of a socket within the process, if there is one now.
    func receive(into batch: inout MessageBatch) throws(ZeroMQError) -> Bool {
        var unused = SocketTraffic()
        return try receive(into: &batch, counting: &unused)
    }

    /// Hands over what was counted, with whether every whole message was taken by now, and starts anew.
    func take(_ use: inout SocketTraffic) -> SocketTraffic {
        var events: Int32 = 0
        var size = MemoryLayout<Int32>.size
        zmq_getsockopt(handle, ZMQ_EVENTS, &events, &size)
        use.isDrained = events & Int32(ZMQ_POLLIN) == 0
        defer { use = SocketTraffic() }
        return use
    }
}
