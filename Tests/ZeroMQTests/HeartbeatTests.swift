import Glibc
import Testing
import ZeroMQ

/// Connections of peers that have stopped: to the socket, such a peer looks like a process that received SIGSTOP.
@Suite(.timeLimit(.minutes(1)))
struct HeartbeatTests {
    @Test(arguments: [true, false])
    func aPeerThatSaysNothingAnyMoreIsLetGo(isAsked: Bool) async throws {
        var options = SocketOptions.publishing
        if isAsked { options.heartbeat = .milliseconds(400) }
        let publisher = try Publisher(context: Context(), thread: SocketThread(name: "test"), options: options)
        let endpoint = try publisher.bind(to: "tcp://127.0.0.1:*")
        let port = try #require(endpoint.split(separator: ":").last.flatMap { UInt16($0) })
        let peer = try SilentSubscriber(port: port)
        defer { peer.close() }
        // Long enough for heartbeats to close the connection.
        let deadline = ContinuousClock.now + (isAsked ? .seconds(30) : .seconds(2))
        while ContinuousClock.now < deadline, try !peer.isLetGo() {
            try publisher.publish([Array("meanwhile".utf8)])
            try await Task.sleep(for: .milliseconds(10))
        }
        #expect(try peer.isLetGo() == isAsked)
    }
}

/// A SUB socket's side of a connection up to the end of the handshake (ZMTP 3.1, rfc.zeromq.org/spec/37), and nothing after.
private struct SilentSubscriber {
    private struct Failure: Error {
        let call: String
        let error = errno
    }

    private let socket: Int32

    init(port: UInt16) throws {
        socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard socket >= 0 else { throw Failure(call: "socket") }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let result = withUnsafePointer(to: address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else { throw Failure(call: "connect") }
        var greeting: [UInt8] = [0xFF, 0, 0, 0, 0, 0, 0, 0, 1, 0x7F, 3, 1] + Array("NULL".utf8)
        greeting += [UInt8](repeating: 0, count: 64 - greeting.count)
        try write(greeting)
        // Bytes sent before the other side's greeting arrives would end the connection.
        var limit = timeval(tv_sec: 10, tv_usec: 0)
        setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var theirs = [UInt8](repeating: 0, count: 64)
        guard recv(socket, &theirs, theirs.count, Int32(MSG_WAITALL)) == theirs.count else {
            throw Failure(call: "recv")
        }
        let ready = [5] + Array("READY".utf8) + [11] + Array("Socket-Type".utf8) + [0, 0, 0, 3] + Array("SUB".utf8)
        // A subscription to everything is a message of one byte.
        try write([4, UInt8(ready.count)] + ready + [0, 1, 1])
    }

    /// Whether the other side has closed the connection. Other messages from it are not answered.
    func isLetGo() throws -> Bool {
        var bytes = [UInt8](repeating: 0, count: 4_096)
        while true {
            let count = recv(socket, &bytes, bytes.count, Int32(MSG_DONTWAIT))
            if count == 0 || count < 0 && errno == ECONNRESET { return true }
            if count < 0 {
                guard errno == EAGAIN || errno == EINTR else { throw Failure(call: "recv") }
                return false
            }
        }
    }

    func close() { _ = Glibc.close(socket) }

    private func write(_ bytes: [UInt8]) throws {
        guard send(socket, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count else {
            throw Failure(call: "send")
        }
    }
}
