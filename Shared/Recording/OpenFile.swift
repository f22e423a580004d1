import Glibc
package import SystemPackage

/// An open file, closed when nobody holds it any more.
///
/// The descriptor stays the same and open as long as the object lives, so that one thread may sync the file while
/// another writes to it: the kernel allows that, and a number that was closed and given to another file can't be hit by
/// mistake.
package final class OpenFile: Sendable {
    package let path: FilePath
    let descriptor: FileDescriptor

    /// Opens or makes a file. It is closed in programs started by this one.
    init(
        _ path: FilePath, _ mode: FileDescriptor.AccessMode, options: FileDescriptor.OpenOptions = [],
        permissions: FilePermissions? = nil, action: String
    ) throws(RecordingError) {
        do {
            descriptor = try FileDescriptor.open(
                path, mode, options: options.union(.closeOnExec), permissions: permissions)
        } catch {
            throw RecordingError(error as? Errno ?? .ioError, action: action, path: path)
        }
        self.path = path
    }

    deinit {
        // What matters was synced, and an error of close(2) is about that: nothing is left to be done.
        try? descriptor.close()
    }

    /// Waits until everything written so far, and the length, would survive a power cut: fdatasync(2). Any thread.
    package func sync() throws(RecordingError) {
        try SystemCall.perform("sync", path) { fdatasync(descriptor.rawValue) }
    }

    /// As `sync()`, with the file's other attributes, or with a directory's entries: fsync(2). Any thread.
    func syncAll() throws(RecordingError) {
        try SystemCall.perform("sync", path) { fsync(descriptor.rawValue) }
    }

    /// The bytes of the whole file, in pieces.
    ///
    /// - Parameter body: gets each piece, which it must not keep.
    func forEachPiece(ofSize size: Int = 256 << 10, _ body: (UnsafeRawBufferPointer) -> Void) throws(RecordingError) {
        let piece = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 16)
        defer { piece.deallocate() }
        var offset: Int64 = 0
        while true {
            let count: Int
            do {
                count = try descriptor.read(fromAbsoluteOffset: offset, into: piece)
            } catch {
                throw RecordingError(error as? Errno ?? .ioError, action: "read", path: path)
            }
            if count == 0 { return }
            body(UnsafeRawBufferPointer(rebasing: piece[..<count]))
            offset += Int64(count)
        }
    }
}
