/// Which file it is, and whether it was changed: another file of the same name differs in it, and so does one that
/// somebody wrote to.
package struct FileIdentity: Hashable, Sendable {
    /// The file system.
    package var device: UInt64
    /// The file's number there.
    package var inode: UInt64
    /// Its size.
    package var bytes: Int
    /// When it was written to last, in nanoseconds since 1970.
    package var modified: Int64

    package init(device: UInt64, inode: UInt64, bytes: Int, modified: Int64) {
        self.device = device
        self.inode = inode
        self.bytes = bytes
        self.modified = modified
    }

    /// Whether it has the bytes of the other one, as far as can be told without reading them: a copy that keeps sizes
    /// and times (`cp -a`, `rsync -a`, a backup that was restored) has, and so has a disk that got another number.
    package func hasSameContent(as other: FileIdentity) -> Bool {
        bytes == other.bytes && modified == other.modified
    }
}
