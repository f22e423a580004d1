import Glibc
package import SystemPackage

/// A file that is small enough to be read whole, such as a configuration or a key.
package struct SmallFile {
    /// The file's bytes; more than the limit if the file is larger.
    package let bytes: [UInt8]
    package let permissions: FilePermissions
    /// Whether the file belongs to the user that this program runs as.
    let isOurs: Bool

    /// Whether others can read a secret in the file, or change it. Group readers are allowed, because an orchestrator gives
    /// secrets to a container's user that way.
    package var isOpenToOthers: Bool { !permissions.isDisjoint(with: [.otherReadWriteExecute, .groupWrite]) }

    /// Reads a file; of a larger one only a little more than the limit.
    /// - Throws: the system's error; `invalidArgument` if the path is not a regular file.
    package init(_ path: FilePath, limit: Int) throws(Errno) {
        do {
            // Does not wait if the path is a pipe.
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
