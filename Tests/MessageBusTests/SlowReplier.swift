import Glibc
import ZeroMQ

/// A REP socket's side of one connection (ZMTP 3.1, rfc.zeromq.org/spec/37), as it looks over a slow link.
actor SlowReplier {
    private struct Failure: Error {
        let call: String
        let error = errno
    }

    /// The bytes of a reply's second frame.
    static let size = 80 * piece
    private static let piece = 4_096

    nonisolated let endpoint: String
    /// Its own, because the calls block.
    private let thread: SocketThread
    private let listener: Int32
    private var peer: Int32 = -1

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.unownedExecutor }

    init() throws {
        thread = try SocketThread(name: "slow")
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard listener >= 0 else { throw Failure(call: "socket") }
        Self.limitWaits(of: listener)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                guard bind(listener, address, length) == 0, listen(listener, 1) == 0 else { return false }
                return getsockname(listener, address, &length) == 0
            }
        }
        guard isListening else { throw Failure(call: "listen") }
        self.listener = listener
        endpoint = "tcp://127.0.0.1:\(UInt16(bigEndian: address.sin_port))"
    }

    /// Ends the connection only now: the last bytes before its end may never be read.
    deinit {
        close(peer)
        close(listener)
    }

    /// Answers one request with two frames. The second one takes at least 4.8 s.
    /// - Returns: whether another request arrived meanwhile.
    func answer(with head: [UInt8]) throws -> Bool {
        peer = accept(listener, nil, nil)
        guard peer >= 0 else { throw Failure(call: "accept") }
        Self.limitWaits(of: peer)

        var greeting: [UInt8] = [0xFF, 0, 0, 0, 0, 0, 0, 0, 1, 0x7F, 3, 1] + Array("NULL".utf8)
        greeting += [UInt8](repeating: 0, count: 64 - greeting.count)
        try write(greeting, to: peer)
        _ = try receive(64, from: peer)
        let ready = Array("\u{5}READY\u{B}Socket-Type\0\0\0\u{3}REP".utf8)
        try write([4, UInt8(ready.count)] + ready, to: peer)
        let command = try receive(2, from: peer)
        _ = try receive(Int(command[1]), from: peer)

        // The request's number, which its reply repeats, an empty frame, and a short frame.
        var start = try receive(6, from: peer)
        let lengths = try receive(4, from: peer)
        _ = try receive(Int(lengths[3]), from: peer)
        start += [1, 0, 1, UInt8(head.count)]
        start += head
        // A long frame, the last one.
        start.append(2)
        withUnsafeBytes(of: UInt64(Self.size).bigEndian) { start += $0 }
        try write(start, to: peer)
        for _ in 0..<Self.size / Self.piece {
            // The link carries 67 KiB a second.
            usleep(60_000)
            try write([UInt8](repeating: 0, count: Self.piece), to: peer)
        }
        var byte: UInt8 = 0
        return recv(peer, &byte, 1, Int32(MSG_DONTWAIT)) > 0
    }

    /// Makes a failed test end.
    private static func limitWaits(of socket: Int32) {
        var limit = timeval(tv_sec: 10, tv_usec: 0)
        setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    }

    private func receive(_ count: Int, from peer: Int32) throws -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        guard recv(peer, &bytes, count, Int32(MSG_WAITALL)) == count else { throw Failure(call: "recv") }
        return bytes
    }

    private func write(_ bytes: [UInt8], to peer: Int32) throws {
        guard send(peer, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count else {
            throw Failure(call: "send")
        }
    }
}
