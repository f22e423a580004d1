import Hashing
import Encryption
import Files
import Recording
import SystemPackage

/// An archive being written under a hidden temporary name in its final directory. At any moment, even after a power failure, the
/// final name belongs to a complete archive or does not exist.
final class ArchiveFile: ByteSink {
    /// The number of bytes written at once.
    private static let pieceSize = 1 << 20

    let name: String
    private let directory: Directory
    private let temporary: FilePath
    private let descriptor: FileDescriptor
    private let calls: FileCalls
    private var hash = SHA256()
    private var written = 0
    private var waiting = UnsafeMutableRawBufferPointer.allocate(byteCount: pieceSize, alignment: 16)
    private var waitingCount = 0
    private var exists = true

    /// - Parameter directory: must exist.
    init(_ name: String, in directory: Directory, calls: FileCalls) throws(ArchiveError) {
        self.name = name
        self.directory = directory
        self.calls = calls
        temporary = directory.path.appending(Directory.temporaryName(for: name))
        do {
            // A killed program may have left a file of this name.
            if directory.contains(Directory.temporaryName(for: name)) { try Directory.removeFile(temporary) }
            descriptor = try FileDescriptor.open(
                temporary, .writeOnly, options: [.create, .exclusiveCreate, .closeOnExec],
                permissions: .byFileMode)
        } catch let error as RecordingError {
            throw ArchiveError(error)
        } catch {
            throw Self.failure("create", temporary, error as? Errno ?? .ioError)
        }
        directory.giveOwner(to: descriptor)
    }

    deinit {
        waiting.deallocate()
        try? descriptor.close()
        // An uncommitted file is deleted.
        if exists { try? Directory.removeFile(temporary) }
    }

    var count: Int { written + waitingCount }

    /// The SHA-256 of the archive, in lower-case hexadecimal digits. Valid after `finish`.
    var sha256: String { hash.finalize().hexDigits }

    func write(_ bytes: UnsafeRawBufferPointer) throws(ArchiveError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = min(rest.count, waiting.count - waitingCount)
            UnsafeMutableRawBufferPointer(rebasing: waiting[waitingCount..<waitingCount + count])
                .copyBytes(from: rest.prefix(count))
            waitingCount += count
            rest = rest.dropFirst(count)
            if waitingCount == waiting.count { try flush() }
        }
    }

    private func flush() throws(ArchiveError) {
        let bytes = UnsafeRawBufferPointer(rebasing: waiting[..<waitingCount])
        hash.update(bufferPointer: bytes)
        var done = 0
        while done < bytes.count {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[done...])
            try attempt("write to") { () throws(Errno) in
                let count = try calls.write(descriptor, rest, Int64(written + done))
                // A disk that writes nothing and reports no error must not cause an endless loop.
                if count == 0 { throw .ioError }
                done += count
            }
        }
        written += done
        waitingCount = 0
    }

    /// Writes the remaining bytes and makes everything durable. The file keeps its temporary name.
    func finish() throws(ArchiveError) {
        try flush()
        try attempt("sync") { () throws(Errno) in try calls.syncAll(descriptor) }
    }

    /// Renames the file to its final name, replacing an older archive. Does not sync the directory.
    func commit() throws(ArchiveError) {
        try attempt("rename") { () throws(Errno) in try calls.rename(temporary, directory.path.appending(name)) }
        exists = false
    }

    /// Makes a system call, and repeats it if a signal interrupts it.
    private func attempt(_ action: String, _ body: () throws(Errno) -> Void) throws(ArchiveError) {
        while true {
            do throws(Errno) {
                return try body()
            } catch {
                if error != .interrupted { throw Self.failure(action, temporary, error) }
            }
        }
    }

    private static func failure(_ action: String, _ path: FilePath, _ errno: Errno) -> ArchiveError {
        switch errno {
        case .noSpace, .diskQuotaExceeded:
            ArchiveError(
                .noSpace,
                "Could not \(action) \(path): \(errno). The session is unchanged, and no archive was made: free some space "
                    + "and try again.")
        default:
            ArchiveError(
                .inputOutput,
                "Could not \(action) \(path): \(errno). The session is unchanged, and no archive was made: check whether "
                    + "the directory exists and this user can write to it.")
        }
    }
}
