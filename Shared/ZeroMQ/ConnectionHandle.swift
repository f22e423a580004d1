import Glibc

/// A connection of libzmq's as the kernel knows it.
struct ConnectionHandle: Hashable, Sendable {
    /// What the kernel has counted.
    struct Reading: Hashable, Sendable {
        /// Bytes that libzmq has read from the peer.
        var received: Int
        /// Bytes that the peer's machine has acknowledged.
        var acknowledged: Int
        /// Whether the kernel has sent everything that libzmq gave it, and the peer's machine acknowledged it.
        var isAllSent: Bool
    }

    let descriptor: Int32
    /// Nil where it could not be had: then the connection can't be touched.
    private let socket: SocketIdentity?
    /// Whether the kernel counts bytes.
    let isCounted: Bool
    /// The peer's address without its port.
    let peer: String

    /// Looks at a descriptor that libzmq told of.
    /// - Parameters:
    ///   - endpoint: what it told: where we listen, or whom we connected to.
    ///   - isIncoming: whether the peer connected.
    init(descriptor: Int32, endpoint: String, isIncoming: Bool) {
        self.descriptor = descriptor
        let remote = SocketAddress(of: descriptor, getpeername)
        peer = remote?.host ?? "unknown"
        isCounted = endpoint.hasPrefix("tcp://")
        // By now the descriptor may be another's already: then it has not the port that it was opened with.
        let known = isIncoming ? SocketAddress(of: descriptor, getsockname) : remote
        let isOurs = isCounted ? known?.port != nil && endpoint.hasSuffix(":\(known?.port ?? 0)") : remote != nil
        socket = isOurs ? SocketIdentity(descriptor) : nil
    }

    /// Whether it was there and libzmq has closed it, of which it does not tell where a socket leaves an endpoint.
    var hasEnded: Bool { socket.map { !$0.exists } ?? false }

    /// What the kernel has counted by now; nil where it does not count, or the connection has ended.
    var reading: Reading? {
        guard isCounted, socket?.exists == true else { return nil }
        return withUnsafeTemporaryAllocation(byteCount: 256, alignment: 8) { info in
            var size = socklen_t(info.count)
            guard getsockopt(descriptor, Int32(IPPROTO_TCP), TCP_INFO, info.baseAddress, &size) == 0, size >= 136
            else { return nil }
            // In `struct tcp_info` of linux/tcp.h, which only ever grows at its end: tcpi_bytes_acked, tcpi_bytes_received.
            let acknowledged = info.load(fromByteOffset: 120, as: UInt64.self)
            let received = info.load(fromByteOffset: 128, as: UInt64.self)
            var unread: Int32 = 0
            _ = ioctl(descriptor, UInt(FIONREAD), &unread)
            var unsent: Int32 = 0
            _ = ioctl(descriptor, UInt(TIOCOUTQ), &unsent)
            return Reading(
                received: max(0, Int(received) - Int(unread)), acknowledged: Int(acknowledged), isAllSent: unsent == 0)
        }
    }

    /// Bytes that a packet takes in the kernel's memory however little it brings, for all packets that a window has room for:
    /// `net.core.rmem_max` as Linux has it at first.
    private static let roomForSmallPackets: Int32 = 212_992

    /// Gives the kernel room for many small packets, while the window that it offers the peer stays as small as it was at the
    /// handshake.
    ///
    /// Otherwise a burst of small messages makes Linux shrink the window below the peer's next packet. The peer then waits
    /// until it may try all the same, and each packet that we send has it wait anew: a subscriber's further subscriptions
    /// would never arrive.
    func makeRoom() {
        socket?.withCopy { copy in
            var size = Self.roomForSmallPackets
            _ = setsockopt(copy, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        }
    }

    /// Ends the connection for both sides: libzmq finds it ended, and closes it.
    func cut() {
        socket?.withCopy { copy in
            shutdown(copy, Int32(SHUT_RDWR))
            // What has come already would still be read, and take memory: tcp(7) throws it away.
            var rounds = 0
            while rounds < 64, recv(copy, nil, 1 << 20, Int32(MSG_TRUNC) | Int32(MSG_DONTWAIT)) > 0 {
                rounds += 1
            }
        }
    }
}
