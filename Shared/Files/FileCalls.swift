import CExchange
import Glibc
package import SystemPackage

/// The system calls that write, sync and rename files, so that a test can make the n-th one fail.
///
/// Each makes one attempt: the caller handles interruptions and short writes.
package struct FileCalls: Sendable {
    /// pwrite(2): writes some of the bytes at an offset, and returns their number.
    package var write: @Sendable (FileDescriptor, UnsafeRawBufferPointer, Int64) throws(Errno) -> Int = {
        descriptor, bytes, offset throws(Errno) in
        let count = pwrite(descriptor.rawValue, bytes.baseAddress, bytes.count, off_t(offset))
        if count < 0 { throw Errno.last }
        return count
    }
    /// ftruncate(2): sets a file's length.
    package var resize: @Sendable (FileDescriptor, Int64) throws(Errno) -> Void = { descriptor, length throws(Errno) in
        try SystemCall.check(ftruncate(descriptor.rawValue, off_t(length)))
    }
    /// fdatasync(2): waits until a file's bytes and its length would survive a power cut.
    package var sync: @Sendable (FileDescriptor) throws(Errno) -> Void = { descriptor throws(Errno) in
        try SystemCall.check(fdatasync(descriptor.rawValue))
    }
    /// fsync(2): the same, including all attributes of a file, or the entries of a directory.
    package var syncAll: @Sendable (FileDescriptor) throws(Errno) -> Void = { descriptor throws(Errno) in
        try SystemCall.check(fsync(descriptor.rawValue))
    }
    /// rename(2): renames a file, and replaces an existing one.
    package var rename: @Sendable (FilePath, FilePath) throws(Errno) -> Void = { old, new throws(Errno) in
        try SystemCall.check(Glibc.rename(old.string, new.string))
    }
    /// link(2): gives a file a second name.
    package var link: @Sendable (FilePath, FilePath) throws(Errno) -> Void = { file, new throws(Errno) in
        try SystemCall.check(Glibc.link(file.string, new.string))
    }
    /// renameat2(2) with RENAME_EXCHANGE: swaps the names of two files or directories atomically.
    package var exchange: @Sendable (FilePath, FilePath) throws(Errno) -> Void = { one, other throws(Errno) in
        try SystemCall.check(holdfast_exchange(one.string, other.string))
    }

    package init() {}

    package static let system = FileCalls()
}
