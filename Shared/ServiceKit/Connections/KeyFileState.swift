import Glibc
import SystemPackage

/// Detects changes of a file or directory: any change updates its change time (inode(7)).
struct KeyFileState: Hashable, Sendable {
    private let inode: UInt64
    private let size: Int64
    /// The time of the last change, in nanoseconds of the wall clock.
    let changed: Int64

    /// The state of the file at a path; nil if there is none.
    init?(_ path: FilePath) {
        guard let status = try? path.stat() else { return nil }
        inode = UInt64(status.inode.rawValue)
        size = status.size
        changed = Int64(status.st_ctim.tv_sec) * 1_000_000_000 + Int64(status.st_ctim.tv_nsec)
    }
}
