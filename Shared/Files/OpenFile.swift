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

    package let calls: FileCalls
    /// Whether the file is new, and its entry in its directory may not be durable yet.
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
        isEntryNew = Atomic(options.contains(.exclusiveCreate))
    }

    /// Opens or makes a file and locks it with flock(2). The system takes the lock back when the file is closed, also if the
    /// program is killed.
    ///
    /// - Parameter isShared: whether others may have the lock too that share it.
    /// - Returns: nil while somebody else has it, in this program or another.
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

    /// Locks the file with flock(2) until it is closed, and waits while another program has the lock. Only for what is done at once.
    func lockExclusively() throws(RecordingError) {
        try SystemCall.perform("lock", path) { flock(descriptor.rawValue, LOCK_EX) }
    }

    /// Makes a file, which must not be there yet, with its first bytes. Nothing is durable before a sync.
    package convenience init(
        creating path: FilePath, _ opening: [UInt8], calls: FileCalls = .system
    ) throws(RecordingError) {
        try self.init(
            path, .readWrite, options: [.create, .exclusiveCreate],
            permissions: .byFileMode, action: "create", calls: calls)
        do throws(RecordingError) {
            try write(opening, at: 0)
        } catch {
            // Without its opening the file is none, and a second try must be able to make it.
            try? Directory.removeFile(path)
            throw error
        }
    }

    /// Opens a file to read and write, or makes it if there is none. A symbolic link is refused.
    package convenience init(openingOrCreating path: FilePath, calls: FileCalls = .system) throws(RecordingError) {
        let isNew = (try? path.stat(followTargetSymlink: false)) == nil
        try self.init(
            path, .readWrite, options: isNew ? [.create, .exclusiveCreate] : .noFollow,
            permissions: isNew ? .byFileMode : nil, action: "open", calls: calls)
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
    package func syncAll() throws(RecordingError) {
        try SystemCall.attempt("sync", path) { () throws(Errno) in try calls.syncAll(descriptor) }
    }

    /// Writes all of the bytes at an offset, in as many calls as that takes.
    ///
    /// - Throws: after an error some of them may be there.
    package func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(RecordingError) {
        var written = 0
        while written < bytes.count {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[written...])
            let count = try SystemCall.attempt("write to", path) { () throws(Errno) in
                try calls.write(descriptor, rest, offset + Int64(written))
            }
            // A disk that takes nothing and reports nothing must not be asked for ever.
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

    /// Whether the file still has a name. One that was removed, or replaced by another, takes bytes as before, and
    /// nobody will find them.
    package var isLinked: Bool {
        (try? descriptor.stat().linkCount) ?? 0 > 0
    }

    package func isFile(at path: FilePath) -> Bool {
        guard let own = try? descriptor.stat(), let named = try? path.stat(followTargetSymlink: false) else {
            return false
        }
        return own.inode == named.inode && own.deviceID == named.deviceID
    }

    package func byteCount() throws(RecordingError) -> Int64 {
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

    /// Reads bytes at an offset, as many as there are and have room; 0 at the file's end.
    package func read(into bytes: UnsafeMutableRawBufferPointer, at offset: Int) throws(RecordingError) -> Int {
        do {
            return try descriptor.read(fromAbsoluteOffset: Int64(offset), into: bytes)
        } catch {
            throw RecordingError(error as? Errno ?? .ioError, action: "read", path: path)
        }
    }

    /// The bytes of the file from an offset to another, or to its end, in pieces.
    ///
    /// - Parameter body: gets each piece, which it must not keep.
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

    /// The bytes of the file from an offset to another, as many of them as there are.
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
