/// Which file it is, and whether it was changed: another file of the same name differs in it, and so does one that
/// somebody wrote to.
struct FileIdentity: Hashable, Sendable {
    /// The file system.
    var device: UInt64
    /// The file's number there.
    var inode: UInt64
    /// Its size.
    var bytes: Int
    /// When it was written to last, in nanoseconds since 1970.
    var modified: Int64

    /// Whether it has the bytes of the other one, as far as can be told without reading them: a copy that keeps sizes
    /// and times (`cp -a`, `rsync -a`, a backup that was restored) has, and so has a disk that got another number.
    func hasSameContent(as other: FileIdentity) -> Bool {
        bytes == other.bytes && modified == other.modified
    }
}
