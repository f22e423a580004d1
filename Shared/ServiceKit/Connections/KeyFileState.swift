import Glibc
import SystemPackage

/// What tells that a file or directory was changed: any change moves its change time (inode(7)).
struct KeyFileState: Hashable, Sendable {
    private let inode: UInt64
    private let size: Int64
    /// When it was changed last, in nanoseconds of the wall clock.
    let changed: Int64

    /// The state of what a path leads to; nil if it leads nowhere.
    init?(_ path: FilePath) {
        guard let status = try? path.stat() else { return nil }
        inode = UInt64(status.inode.rawValue)
        size = status.size
        changed = Int64(status.st_ctim.tv_sec) * 1_000_000_000 + Int64(status.st_ctim.tv_nsec)
    }
}
