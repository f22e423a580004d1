import CTCPInfo
import Glibc

/// The kernel's view of a libzmq connection.
package struct ConnectionHandle: Hashable, Sendable {
    /// The kernel's counts.
    package struct Reading: Hashable, Sendable {
        /// Bytes that libzmq has read from the peer.
        package var received: Int
        /// Bytes that the peer's machine has acknowledged.
        package var acknowledged: Int
        /// Whether the kernel has sent all data from libzmq, and the peer's machine has acknowledged it.
        package var isAllSent: Bool

        package init(received: Int, acknowledged: Int, isAllSent: Bool) {
            self.received = received
            self.acknowledged = acknowledged
            self.isAllSent = isAllSent
        }
    }

    private let descriptor: Int32
    /// Nil if libzmq had closed it before it could be examined; then the connection can't be accessed.
    private let socket: SocketIdentity?
    /// Whether the kernel counts bytes.
    private let isCounted: Bool
    /// The peer's address without its port; `unknown` if the peer was gone before it could be determined.
    package let peer: String

    /// Examines the descriptor in an event.
    /// - Parameter endpoint: the bound or connected endpoint in the event.
    init(descriptor: Int32, endpoint: String, isIncoming: Bool) {
        self.descriptor = descriptor
        let remote = SocketAddress(of: descriptor, getpeername)
        peer = remote?.host ?? "unknown"
        isCounted = endpoint.hasPrefix("tcp://")
        // The descriptor may already belong to another file; then its port differs from the original one.
        let known = isIncoming ? SocketAddress(of: descriptor, getsockname) : remote
        let isOurs = isCounted ? known?.port != nil && endpoint.hasSuffix(":\(known?.port ?? 0)") : remote != nil
        socket = isOurs ? SocketIdentity(descriptor) : nil
    }

    /// Whether libzmq has closed the connection. It sends no event when a socket disconnects from an endpoint.
    package var hasEnded: Bool { socket.map { !$0.exists } ?? false }

    /// The kernel's current counts; nil if it does not count, or if the connection has ended.
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

    /// Shuts the connection down on both sides; libzmq then notices its end and closes it.
    package func cut() {
        socket?.withCopy { copy in
            // Makes libzmq's close reset the connection, so the peer notices at once. Otherwise a peer that has filled the
            // receive buffer would keep trying for up to a minute.
            var atOnce = linger(l_onoff: 1, l_linger: 0)
            setsockopt(copy, SOL_SOCKET, SO_LINGER, &atOnce, socklen_t(MemoryLayout<linger>.size))
            shutdown(copy, Int32(SHUT_RDWR))
            // Data that has already arrived would still be read into memory; MSG_TRUNC discards it (tcp(7)).
            var rounds = 0
            while rounds < 64, recv(copy, nil, 1 << 20, Int32(MSG_TRUNC) | Int32(MSG_DONTWAIT)) > 0 {
                rounds += 1
            }
        }
    }
}
