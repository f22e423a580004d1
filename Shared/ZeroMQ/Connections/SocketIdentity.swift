import Glibc

/// A socket of libzmq's as the kernel knows it, by a file descriptor that libzmq may close at any moment.
///
/// Linux gives each socket an inode number of its own. Where the descriptor has another by now it was closed and used
/// again, for a log file perhaps, and nothing is done to it.
struct SocketIdentity: Hashable, Sendable {
    let descriptor: Int32
    private let inode: UInt

    /// Nil where the descriptor is not a socket.
    init?(_ descriptor: Int32) {
        guard let inode = Self.inode(of: descriptor) else { return nil }
        self.descriptor = descriptor
        self.inode = inode
    }

    /// Whether libzmq still has it.
    var exists: Bool { Self.inode(of: descriptor) == inode }

    /// Does something to the socket if it is still there. The copy that the closure gets stays what it is, whatever libzmq
    /// does to the original.
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
