import Glibc
import SystemPackage

struct LSLAddress: Hashable, Sendable {
    /// In network byte order.
    let address: UInt32
    let port: UInt16

    /// - Returns: nil if the text is not a numeric address.
    init?(_ text: String, port: UInt16) {
        var parsed = in_addr()
        guard inet_pton(AF_INET, text, &parsed) == 1 else { return nil }
        self.init(parsed.s_addr, port: port)
    }

    init(_ address: UInt32, port: UInt16) {
        self.address = address
        self.port = port
    }

    fileprivate func withPointer<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        var full = sockaddr_in()
        full.sin_family = sa_family_t(AF_INET)
        full.sin_port = port.bigEndian
        full.sin_addr.s_addr = address
        return withUnsafePointer(to: &full) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }
}

/// An IPv4 socket, for datagrams or for a connection, that is read without blocking. It closes with its last reference.
final class LSLSocket {
    /// How long connecting and sending may block, in seconds: on a thread that waits for nothing else.
    private static let patience = 3
    private static let longestDatagram = 1 << 16
    /// The kernel's receive buffer of a connection, in bytes, for times when this machine is busy.
    private static let receiveBuffer: CInt = 1 << 22

    /// A connection has failed after this many probes without an answer, these many seconds apart: shortly after an outlet has no
    /// more room for the samples of an outage.
    private static let probeInterval: CInt = 10
    private static let silentProbes: CInt = 37

    let descriptor: Int32

    private init(_ type: __socket_type) throws(Errno) {
        descriptor = socket(AF_INET, Int32(type.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw Errno(rawValue: errno) }
    }

    deinit { close(descriptor) }

    private func set<Value>(_ option: CInt, _ value: Value, level: CInt = SOL_SOCKET) throws(Errno) {
        let status = withUnsafePointer(to: value) {
            setsockopt(descriptor, level, option, $0, socklen_t(MemoryLayout<Value>.size))
        }
        guard status == 0 else { throw Errno(rawValue: errno) }
    }

    private func stopWaiting() throws(Errno) {
        guard fcntl(descriptor, F_SETFL, O_NONBLOCK) == 0 else { throw Errno(rawValue: errno) }
    }

    /// A socket for datagrams, with a port chosen by the kernel.
    static func datagrams() throws(Errno) -> LSLSocket {
        let socket = try LSLSocket(SOCK_DGRAM)
        try socket.set(SO_BROADCAST, CInt(1))
        try socket.stopWaiting()
        let status = LSLAddress(0, port: 0).withPointer { bind(socket.descriptor, $0, $1) }
        guard status == 0 else { throw Errno(rawValue: errno) }
        return socket
    }

    /// Connects, and blocks until the connection is made.
    static func connection(to address: LSLAddress) throws(Errno) -> LSLSocket {
        let socket = try LSLSocket(SOCK_STREAM)
        try socket.set(SO_SNDTIMEO, timeval(tv_sec: patience, tv_usec: 0))
        try? socket.set(SO_RCVBUF, receiveBuffer)
        try socket.set(SO_KEEPALIVE, CInt(1))
        let probes = [(TCP_KEEPIDLE, probeInterval), (TCP_KEEPINTVL, probeInterval), (TCP_KEEPCNT, silentProbes)]
        for (option, value) in probes { try socket.set(option, value, level: CInt(IPPROTO_TCP)) }
        let status = address.withPointer { connect(socket.descriptor, $0, $1) }
        // EINPROGRESS: it took too long (man 7 socket, SO_SNDTIMEO).
        guard status == 0 else { throw errno == EINPROGRESS ? .timedOut : Errno(rawValue: errno) }
        return socket
    }

    var port: UInt16 {
        var address = sockaddr_in()
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { _ = getsockname(descriptor, $0, &size) }
        }
        return UInt16(bigEndian: address.sin_port)
    }

    /// Sends a datagram. If that fails, the datagram counts as lost on the way.
    func send(_ bytes: [UInt8], to address: LSLAddress) {
        _ = address.withPointer { sendto(descriptor, bytes, bytes.count, 0, $0, $1) }
    }

    /// Sends bytes on a connection, a question of a few hundred; afterwards the socket no longer blocks.
    func send(_ bytes: [UInt8]) throws(Errno) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { throw Errno(rawValue: errno) }
            rest.removeFirst(count)
        }
        try stopWaiting()
    }

    /// The next datagram and its sender; nil if none waits.
    func receive() throws(Errno) -> (bytes: [UInt8], from: LSLAddress)? {
        var address = sockaddr_in()
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        var bytes = [UInt8](repeating: 0, count: Self.longestDatagram)
        let count = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                bytes.withUnsafeMutableBytes { recvfrom(descriptor, $0.baseAddress, $0.count, 0, pointer, &size) }
            }
        }
        guard count >= 0 else {
            // An earlier datagram to a closed port is reported here.
            if [EAGAIN, EINTR, ECONNREFUSED].contains(errno) { return nil }
            throw Errno(rawValue: errno)
        }
        bytes.removeLast(bytes.count - count)
        return (bytes, LSLAddress(address.sin_addr.s_addr, port: UInt16(bigEndian: address.sin_port)))
    }

    /// Reads from a connection.
    /// - Returns: the number of bytes; 0 at the end, nil if none wait.
    func read(into bytes: inout [UInt8]) throws(Errno) -> Int? {
        let count = bytes.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress, $0.count, 0) }
        guard count < 0 else { return count }
        if [EAGAIN, EINTR].contains(errno) { return nil }
        throw Errno(rawValue: errno)
    }
}
