import Glibc
package import SystemPackage

/// A file that is small enough to be read whole: a configuration, a key.
package struct SmallFile {
    /// What it holds; more than the limit if it is larger.
    package let bytes: [UInt8]
    /// Who may read and write it.
    package let permissions: FilePermissions
    /// Whether it belongs to the user that this program runs as.
    let isOurs: Bool

    /// Whether others can read a secret in it, or change it. Group readers are allowed: an orchestrator gives secrets to a
    /// container's user that way.
    package var isOpenToOthers: Bool { !permissions.isDisjoint(with: [.otherReadWriteExecute, .groupWrite]) }

    /// Reads a file, and no more of it than a little beyond the limit.
    /// - Throws: what the system says; `invalidArgument` for what is not a file.
    package init(_ path: FilePath, limit: Int) throws(Errno) {
        do {
            // Without waiting, should it be a pipe.
            let file = try FileDescriptor.open(path, .readOnly, options: [.closeOnExec, .nonBlocking])
            (bytes, permissions, isOurs) = try file.closeAfter {
                let status = try file.stat()
                guard status.type == .regular else { throw Errno.invalidArgument }
                var bytes: [UInt8] = []
                var count = 1
                while count > 0, bytes.count <= limit {
                    let chunk = try [UInt8](unsafeUninitializedCapacity: 1 << 14) { buffer, initialized in
                        initialized = try file.read(into: UnsafeMutableRawBufferPointer(buffer))
                    }
                    count = chunk.count
                    bytes += chunk
                }
                return (bytes, status.permissions, status.userID.rawValue == geteuid())
            }
        } catch {
            throw error as? Errno ?? .ioError
        }
    }
}
