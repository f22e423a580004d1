import Glibc
package import SystemPackage

/// The system calls by which a file grows, so that a test can make the n-th one fail.
///
/// Each makes one attempt: who calls deals with interruptions and short writes.
package struct FileCalls: Sendable {
    /// pwrite(2): writes some of the bytes at an offset, and says how many.
    package var write: @Sendable (FileDescriptor, UnsafeRawBufferPointer, Int64) throws(Errno) -> Int
    /// ftruncate(2): makes a file exactly so long.
    package var resize: @Sendable (FileDescriptor, Int64) throws(Errno) -> Void

    package init(
        write: @escaping @Sendable (FileDescriptor, UnsafeRawBufferPointer, Int64) throws(Errno) -> Int,
        resize: @escaping @Sendable (FileDescriptor, Int64) throws(Errno) -> Void
    ) {
        self.write = write
        self.resize = resize
    }

    /// The calls themselves.
    package static let system = FileCalls(
        write: { descriptor, bytes, offset throws(Errno) in
            let count = pwrite(descriptor.rawValue, bytes.baseAddress, bytes.count, off_t(offset))
            if count < 0 { throw Errno.last }
            return count
        },
        resize: { descriptor, length throws(Errno) in
            if ftruncate(descriptor.rawValue, off_t(length)) != 0 { throw Errno.last }
        }
    )
}
