import Glibc

/// The kernel's identity of a libzmq socket, whose file descriptor libzmq may close at any time.
///
/// Linux gives each socket a unique inode number. If the descriptor has another one now, it was closed and reused, perhaps for
/// a stream file, and is left alone.
struct SocketIdentity: Hashable, Sendable {
    let descriptor: Int32
    private let inode: UInt

    /// Nil if the descriptor is not a socket.
    init?(_ descriptor: Int32) {
        guard let inode = Self.inode(of: descriptor) else { return nil }
        self.descriptor = descriptor
        self.inode = inode
    }

    /// Whether libzmq still has the socket open.
    var exists: Bool { Self.inode(of: descriptor) == inode }

    /// Passes a copy of the descriptor to the closure if the socket is still open. The copy stays valid, whatever libzmq does
    /// with the original.
    func withCopy(_ body: (Int32) -> Void) {
        let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 3)
        guard copy >= 0 else { return }
        defer { close(copy) }
        if Self.inode(of: copy) == inode { body(copy) }
    }

    private static func inode(of descriptor: Int32) -> UInt? {
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK else { return nil }
        return UInt(status.st_ino)
    }
}
