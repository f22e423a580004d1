/// Identifies a file and its state: it differs for another file of the same name, and after somebody wrote to the file.
package struct FileIdentity: Hashable, Sendable {
    /// The file system's device number.
    package var device: UInt64
    package var inode: UInt64
    package var bytes: Int
    /// When the file was last written to, in nanoseconds since 1970.
    package var modified: Int64

    package init(device: UInt64, inode: UInt64, bytes: Int, modified: Int64) {
        self.device = device
        self.inode = inode
        self.bytes = bytes
        self.modified = modified
    }

    /// Whether both files have the same content, judged without reading them. True for a copy that keeps sizes and times (`cp
    /// -a`, `rsync -a`, a restored backup), and if the disk got another device number.
    package func hasSameContent(as other: FileIdentity) -> Bool {
        bytes == other.bytes && modified == other.modified
    }
}
