import Glibc
import Synchronization
package import SystemPackage

/// An open file, closed when the last reference is released.
///
/// The descriptor stays open and unchanged as long as the object exists. So one thread may sync the file while another writes
/// to it, which the kernel allows, and a descriptor that was closed and reused for another file is never used by mistake.
package final class OpenFile: Sendable {
    /// The path when the file was opened; it may have been renamed since.
    package let path: FilePath
    let descriptor: FileDescriptor

    package let calls: FileCalls
    /// Whether the file may be new, so that its directory entry may not be durable yet.
    private let isEntryNew: Atomic<Bool>

    package init(
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
        isEntryNew = Atomic(options.contains(.create))
    }

    /// Opens or creates a file and locks it with flock(2). The system releases the lock when the file is closed, even if the
    /// program is killed.
    ///
    /// - Parameter isShared: whether other holders may share the lock.
    /// - Returns: nil while the lock is held elsewhere, in this program or another.
    package static func lock(_ path: FilePath, isShared: Bool = false) throws(RecordingError) -> OpenFile? {
        while true {
            let file = try OpenFile(
                path, .readWrite, options: [.create, .noFollow],
                permissions: .byFileMode, action: "open")
            do throws(Errno) {
                try SystemCall.repeating { () throws(Errno) in
                    try SystemCall.check(flock(file.descriptor.rawValue, (isShared ? LOCK_SH : LOCK_EX) | LOCK_NB))
                }
            } catch {
                if error == .wouldBlock { return nil }
                throw RecordingError(error, action: "lock", path: path)
            }
            // Another program may have removed the file before it was locked; then the lock excludes nothing.
            if file.isFile(at: path) { return file }
        }
    }

    /// Locks the file with flock(2) until it is closed, and waits while another program has the lock. Only for short work.
    func lockExclusively() throws(RecordingError) {
        try SystemCall.perform("lock", path) { flock(descriptor.rawValue, LOCK_EX) }
    }

    /// Creates a file, which must not exist yet, with its first bytes. Nothing is durable before a sync.
    package convenience init(
        creating path: FilePath, _ opening: [UInt8], calls: FileCalls = .system
    ) throws(RecordingError) {
        try self.init(
            path, .readWrite, options: [.create, .exclusiveCreate],
            permissions: .byFileMode, action: "create", calls: calls)
        do throws(RecordingError) {
            try write(opening, at: 0)
        } catch {
            // A file without its opening is invalid, and a second attempt must be able to create it.
            try? Directory.removeFile(path)
            throw error
        }
    }

    /// Opens a file for reading and writing, or creates it, even if another program creates it at the same time. A symbolic link
    /// is refused.
    package convenience init(openingOrCreating path: FilePath, calls: FileCalls = .system) throws(RecordingError) {
        let isNew = (try? path.stat(followTargetSymlink: false)) == nil
        try self.init(
            path, .readWrite, options: isNew ? [.create, .noFollow] : .noFollow,
            permissions: isNew ? .byFileMode : nil, action: "open", calls: calls)
    }

    deinit {
        // Important data was synced, and an error of close(2) would concern only that.
        try? descriptor.close()
    }

    /// Waits until everything written so far, and the length, would survive a power cut: fdatasync(2). For a new file this
    /// includes its directory entry. Only one thread may call it at a time.
    package func sync() throws(RecordingError) {
        try SystemCall.attempt("sync", path) { () throws(Errno) in try calls.sync(descriptor) }
        if isEntryNew.load(ordering: .relaxed) {
            try Directory(path.removingLastComponent()).sync(calls: calls)
            isEntryNew.store(false, ordering: .relaxed)
        }
    }

    /// Like fdatasync(2), but including all attributes of a file, or the entries of a directory: fsync(2). Callable on any
    /// thread.
    package func syncAll() throws(RecordingError) {
        try SystemCall.attempt("sync", path) { () throws(Errno) in try calls.syncAll(descriptor) }
    }

    /// Writes all bytes at an offset, in as many calls as needed.
    ///
    /// - Throws: after an error, some of the bytes may have been written.
    package func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(RecordingError) {
        var written = 0
        while written < bytes.count {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[written...])
            let count = try SystemCall.attempt("write to", path) { () throws(Errno) in
                try calls.write(descriptor, rest, offset + Int64(written))
            }
            // A disk that accepts no bytes and reports no error must not cause an endless loop.
            if count <= 0 { throw RecordingError(.ioError, action: "write to", path: path) }
            written += count
        }
    }

    package func write(_ bytes: [UInt8], at offset: Int64) throws(RecordingError) {
        try bytes.withUnsafeBufferPointer { bytes throws(RecordingError) in
            try write(UnsafeRawBufferPointer(bytes), at: offset)
        }
    }

    package func resize(to length: Int64) throws(RecordingError) {
        try SystemCall.attempt("write to", path) { () throws(Errno) in try calls.resize(descriptor, length) }
    }

    /// Whether the file still has a name. A file that was removed or replaced still accepts writes, but nothing can read them
    /// later.
    package var isLinked: Bool {
        (try? descriptor.stat().linkCount) ?? 0 > 0
    }

    package func isFile(at path: FilePath) -> Bool {
        guard let own = try? descriptor.stat(), let named = try? path.stat(followTargetSymlink: false) else {
            return false
        }
        return own.isSame(as: named)
    }

    package func byteCount() throws(RecordingError) -> Int64 {
        do throws(Errno) {
            return try descriptor.stat().size
        } catch {
            throw RecordingError(error, action: "look at", path: path)
        }
    }

    /// Lets the system drop a range of bytes from the page cache, which must be on disk: they will not be read soon, and other
    /// programs can use the memory.
    func dropFromMemory(_ range: Range<Int>) {
        // Only a hint; nothing depends on the result.
        _ = posix_fadvise(descriptor.rawValue, off_t(range.lowerBound), off_t(range.count), POSIX_FADV_DONTNEED)
    }

    /// Reads bytes at an offset, up to the size of `bytes`; returns 0 at the file's end.
    package func read(into bytes: UnsafeMutableRawBufferPointer, at offset: Int) throws(RecordingError) -> Int {
        do {
            return try descriptor.read(fromAbsoluteOffset: Int64(offset), into: bytes)
        } catch {
            throw RecordingError(error as? Errno ?? .ioError, action: "read", path: path)
        }
    }

    /// Reads the file's bytes in a range, or up to its end, in pieces.
    ///
    /// - Parameter body: receives each piece, and must not keep it.
    package func forEachPiece(
        ofSize size: Int = 256 << 10, in range: Range<Int> = 0..<Int.max, _ body: (UnsafeRawBufferPointer) -> Void
    ) throws(RecordingError) {
        let piece = UnsafeMutableRawBufferPointer.allocate(byteCount: min(size, range.count), alignment: 16)
        defer { piece.deallocate() }
        var offset = range.lowerBound
        while offset < range.upperBound {
            let room = UnsafeMutableRawBufferPointer(rebasing: piece.prefix(range.upperBound - offset))
            let count = try read(into: room, at: offset)
            if count == 0 { return }
            body(UnsafeRawBufferPointer(rebasing: piece[..<count]))
            offset += count
        }
    }

    /// The file's bytes in a range: fewer if the file ends before the range does.
    package func bytes(in range: Range<Int>) throws(RecordingError) -> [UInt8] {
        let end = min(range.upperBound, Int(try byteCount()))
        var failure: RecordingError?
        let bytes = [UInt8](unsafeUninitializedCapacity: max(0, end - range.lowerBound)) { room, count in
            do throws(RecordingError) {
                while count < room.count {
                    let rest = UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(room)[count...])
                    let read = try read(into: rest, at: range.lowerBound + count)
                    if read == 0 { return }
                    count += read
                }
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        return bytes
    }
}
