import CTCPInfo
import Glibc

/// A connection of libzmq's as the kernel knows it.
package struct ConnectionHandle: Hashable, Sendable {
    /// What the kernel has counted.
    package struct Reading: Hashable, Sendable {
        /// Bytes that libzmq has read from the peer.
        package var received: Int
        /// Bytes that the peer's machine has acknowledged.
        package var acknowledged: Int
        /// Whether the kernel has sent everything that libzmq gave it, and the peer's machine acknowledged it.
        package var isAllSent: Bool

        package init(received: Int, acknowledged: Int, isAllSent: Bool) {
            self.received = received
            self.acknowledged = acknowledged
            self.isAllSent = isAllSent
        }
    }

    private let descriptor: Int32
    /// Nil if libzmq had closed it before it could be looked at: then the connection can't be touched.
    private let socket: SocketIdentity?
    /// Whether the kernel counts bytes.
    private let isCounted: Bool
    /// The peer's address without its port; `unknown` if the peer was gone before it could be asked for.
    package let peer: String

    /// Looks at a descriptor that an event names.
    /// - Parameter endpoint: where we listen, or what we connected to, as the event says.
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

    /// Whether libzmq has closed it. It sends no event when a socket leaves an endpoint.
    package var hasEnded: Bool { socket.map { !$0.exists } ?? false }

    /// What the kernel has counted by now; nil if it does not count, or the connection has ended.
    package var reading: Reading? {
        guard isCounted, socket?.exists == true else { return nil }
        var (received, acknowledged) = (UInt64(0), UInt64(0))
        guard holdfast_tcp_counts(descriptor, &received, &acknowledged) else { return nil }
        var unread: Int32 = 0
        _ = ioctl(descriptor, UInt(FIONREAD), &unread)
        var unsent: Int32 = 0
        _ = ioctl(descriptor, UInt(TIOCOUTQ), &unsent)
        return Reading(
            received: max(0, Int(received) - Int(unread)), acknowledged: Int(acknowledged), isAllSent: unsent == 0)
    }

    /// Ends the connection for both sides: libzmq finds it ended, and closes it.
    package func cut() {
        socket?.withCopy { copy in
            // libzmq's close then resets the connection, so the peer learns of it at once. Without this, a peer that has
            // filled our receive buffer keeps trying for up to a minute.
            var atOnce = linger(l_onoff: 1, l_linger: 0)
            setsockopt(copy, SOL_SOCKET, SO_LINGER, &atOnce, socklen_t(MemoryLayout<linger>.size))
            shutdown(copy, Int32(SHUT_RDWR))
            // What has come already would still be read, and take memory: tcp(7) throws it away.
            var rounds = 0
            while rounds < 64, recv(copy, nil, 1 << 20, Int32(MSG_TRUNC) | Int32(MSG_DONTWAIT)) > 0 {
                rounds += 1
            }
        }
    }
}
