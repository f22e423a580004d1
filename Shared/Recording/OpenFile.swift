import Glibc
import Synchronization
package import SystemPackage

/// An open file, closed when nobody holds it any more.
///
/// The descriptor stays the same and open as long as the object lives, so that one thread may sync the file while
/// another writes to it: the kernel allows that, and a number that was closed and given to another file can't be hit by
/// mistake.
package final class OpenFile: Sendable {
    /// Where it was when it was opened; it may have got another name since.
    package let path: FilePath
    let descriptor: FileDescriptor

    private let calls: FileCalls
    /// Whether the file is new, and its entry in its directory may not be durable yet.
    private let isEntryNew: Atomic<Bool>

    /// Opens or makes a file. It is closed in programs started by this one.
    init(
        _ path: FilePath, _ mode: FileDescriptor.AccessMode, options: FileDescriptor.OpenOptions = [],
        permissions: FilePermissions? = nil, action: String, calls: FileCalls = .system
    ) throws(RecordingError) {
        do {
            descriptor = try FileDescriptor.open(
                path, mode, options: options.union(.closeOnExec), permissions: permissions)
        } catch {
            throw RecordingError(error as? Errno ?? .ioError, action: action, path: path)
        }
        self.path = path
        self.calls = calls
        isEntryNew = Atomic(options.contains(.exclusiveCreate))
    }

    deinit {
        // What matters was synced, and an error of close(2) is about that: nothing is left to be done.
        try? descriptor.close()
    }

    /// Waits until everything written so far, and the length, would survive a power cut: fdatasync(2). For a file that
    /// is new, its directory's entries too. One thread, any.
    package func sync() throws(RecordingError) {
        try SystemCall.attempt("sync", path) { () throws(Errno) in try calls.sync(descriptor) }
        if isEntryNew.load(ordering: .relaxed) {
            try Directory(path.removingLastComponent()).sync(calls: calls)
            isEntryNew.store(false, ordering: .relaxed)
        }
    }

    /// As fdatasync(2), with the file's other attributes, or with a directory's entries: fsync(2). Any thread.
    func syncAll() throws(RecordingError) {
        try SystemCall.attempt("sync", path) { () throws(Errno) in try calls.syncAll(descriptor) }
    }

    /// Whether the file still has a name. One that was removed, or replaced by another, takes bytes as before, and
    /// nobody will find them.
    package var isLinked: Bool {
        (try? descriptor.stat().linkCount) ?? 0 > 0
    }

    /// Whether this is the file that has that path now.
    func isFile(at path: FilePath) -> Bool {
        guard let own = try? descriptor.stat(), let named = try? path.stat(followTargetSymlink: false) else {
            return false
        }
        return own.inode == named.inode && own.deviceID == named.deviceID
    }

    /// The file's length.
    func byteCount() throws(RecordingError) -> Int64 {
        do throws(Errno) {
            return try descriptor.stat().size
        } catch {
            throw RecordingError(error, action: "look at", path: path)
        }
    }

    /// Lets the system forget the bytes of a range that are on disk: nobody will read them soon, and other programs can
    /// use the memory.
    func dropFromMemory(_ range: Range<Int>) {
        // Only a wish, and nothing depends on the answer.
        _ = posix_fadvise(descriptor.rawValue, off_t(range.lowerBound), off_t(range.count), POSIX_FADV_DONTNEED)
    }

    /// The bytes of the file from an offset to another, or to its end, in pieces.
    ///
    /// - Parameter body: gets each piece, which it must not keep.
    func forEachPiece(
        ofSize size: Int = 256 << 10, in range: Range<Int> = 0..<Int.max, _ body: (UnsafeRawBufferPointer) -> Void
    ) throws(RecordingError) {
        let piece = UnsafeMutableRawBufferPointer.allocate(byteCount: min(size, range.count), alignment: 16)
        defer { piece.deallocate() }
        var offset = range.lowerBound
        while offset < range.upperBound {
            let count: Int
            do {
                count = try descriptor.read(
                    fromAbsoluteOffset: Int64(offset),
                    into: UnsafeMutableRawBufferPointer(rebasing: piece.prefix(range.upperBound - offset)))
            } catch {
                throw RecordingError(error as? Errno ?? .ioError, action: "read", path: path)
            }
            if count == 0 { return }
            body(UnsafeRawBufferPointer(rebasing: piece[..<count]))
            offset += count
        }
    }
}
