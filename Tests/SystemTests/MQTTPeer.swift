import Glibc
import TestSupport
import ZeroMQ

/// One end of an MQTT connection: a device's or the broker's.
actor MQTTPeer {
    private static let limit: Int64 = 50_000_000_000
    private static let shared = Result { try SocketThread(name: "mqtt test") }

    private let thread: SocketThread
    private let descriptor: Int32
    private var received: [UInt8] = []

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.unownedExecutor }

    /// Takes over a connection.
    fileprivate init(_ descriptor: Int32) throws {
        thread = try Self.shared.get()
        self.descriptor = descriptor
    }

    /// Connects to a broker on this machine.
    /// - Throws: `TestFailure` if nothing listens on the port.
    init(port: UInt16) throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        let result = withAddress(port: port) { connect(descriptor, $0, $1) }
        guard result == 0 else {
            close(descriptor)
            throw TestFailure("connect: \(errno)")
        }
        try self.init(descriptor)
    }

    deinit { close(descriptor) }

    func send(_ packet: MQTTPacket) throws {
        var rest = packet.bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { throw TestFailure("the connection has ended") }
            rest = rest.dropFirst(count)
        }
    }

    /// The next packet.
    /// - Throws: `TestFailure` if none arrives before the connection ends or the time is over.
    func next() async throws -> MQTTPacket {
        let deadline = MonotonicClock.now + Self.limit
        while true {
            if let packet = MQTTPacket(takingFrom: &received) { return packet }
            guard try await thread.readable(descriptor: descriptor, deadline: deadline), take() else {
                throw TestFailure("no packet came")
            }
        }
    }

    /// All packets that have already arrived.
    func waiting() -> [MQTTPacket] {
        var chunk = [UInt8](repeating: 0, count: 4_096)
        let count = recv(descriptor, &chunk, chunk.count, Int32(MSG_DONTWAIT))
        if count > 0 { received += chunk[..<count] }
        var packets: [MQTTPacket] = []
        while let packet = MQTTPacket(takingFrom: &received) { packets.append(packet) }
        return packets
    }

    private func take() -> Bool {
        var chunk = [UInt8](repeating: 0, count: 4_096)
        let count = recv(descriptor, &chunk, chunk.count, 0)
        guard count > 0 else { return false }
        received += chunk[..<count]
        return true
    }
}

/// A socket on which a test acts as the broker.
actor MQTTListener {
    private let thread: SocketThread
    private let descriptor: Int32
    nonisolated let port: UInt16

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.unownedExecutor }

    init() throws {
        thread = try SocketThread(name: "mqtt listener")
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = descriptor
        let result = withUnsafeMutablePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, size) == 0 && listen(descriptor, 4) == 0 && getsockname(descriptor, $0, &size) == 0
            }
        }
        guard result else { throw TestFailure("listen: \(errno)") }
        port = UInt16(bigEndian: address.sin_port)
    }

    deinit { close(descriptor) }

    func accept() async throws -> MQTTPeer {
        guard try await thread.readable(descriptor: descriptor, deadline: MonotonicClock.now + 50_000_000_000) else {
            throw TestFailure("nobody connected")
        }
        return try MQTTPeer(Glibc.accept(descriptor, nil, nil))
    }
}

/// A device that sends with quality of service 1: it keeps messages until the broker acknowledges them, and sends them again.
actor MQTTDevice {
    private let port: UInt16
    private let topic: String
    private var peer: MQTTPeer?
    private var identifier: UInt16 = 0
    /// The message that is sent first after each reconnection: a device does not know what a killed broker kept.
    private var recent: [UInt8]?

    init(port: UInt16, topic: String) {
        self.port = port
        self.topic = topic
    }

    /// Sends a message until a broker acknowledges it.
    /// - Parameter all: a message that repeats everything that a broker may have had and lost.
    func send(_ text: String, all: String) async throws {
        recent = Array(all.utf8)
        try await eventually("a broker that acknowledges") {
            do {
                let peer = try await self.connected()
                try await self.send(Array(text.utf8), over: peer)
                return true
            } catch is TestFailure {
                self.peer = nil
                return false
            }
        }
    }

    private func connected() async throws -> MQTTPeer {
        if let peer { return peer }
        let peer = try MQTTPeer(port: port)
        try await peer.send(.connect(client: "device", isClean: true))
        guard try await peer.next() == .connack(code: 0) else { throw TestFailure("the broker refuses the device") }
        if let recent { try await send(recent, over: peer) }
        self.peer = peer
        return peer
    }

    private func send(_ payload: [UInt8], over peer: MQTTPeer) async throws {
        identifier = identifier % 65_535 + 1
        try await peer.send(.publish(topic: topic, payload: payload, identifier: identifier))
        while try await peer.next() != .puback(identifier) {}
    }
}
