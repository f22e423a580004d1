import Hashing
import Encryption
import Files
import Recording
import SystemPackage

/// An archive while it is written, under a hidden name beside the one that it gets in the end: at every moment, also
/// after a power cut, there is no archive of that name, or a whole one.
final class ArchiveFile: ByteSink {
    /// Bytes that are written at once.
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

    /// - Parameter directory: must be there.
    init(_ name: String, in directory: Directory, calls: FileCalls) throws(ArchiveError) {
        self.name = name
        self.directory = directory
        self.calls = calls
        temporary = directory.path.appending(Directory.temporaryName(for: name))
        do {
            // One may have been left by a program that was killed here.
            if directory.contains(Directory.temporaryName(for: name)) { try Directory.removeFile(temporary) }
            descriptor = try FileDescriptor.open(
                temporary, .writeOnly, options: [.create, .exclusiveCreate, .closeOnExec],
                permissions: .byFileMode)
        } catch let error as RecordingError {
            throw ArchiveError(error)
        } catch {
            throw Self.failure("create", temporary, error as? Errno ?? .ioError)
        }
    }

    deinit {
        waiting.deallocate()
        try? descriptor.close()
        // What was not committed is none.
        if exists { try? Directory.removeFile(temporary) }
    }

    /// How many bytes the archive has.
    var count: Int { written + waitingCount }

    /// SHA-256 of them, in lower-case hexadecimal digits. Once it is finished.
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
                // A disk that takes nothing and reports nothing must not be asked for ever.
                if count == 0 { throw .ioError }
                done += count
            }
        }
        written += done
        waitingCount = 0
    }

    /// Writes what waits, and makes everything durable; the name is still the hidden one.
    func finish() throws(ArchiveError) {
        try flush()
        try attempt("sync") { () throws(Errno) in try calls.syncAll(descriptor) }
    }

    /// Gives the file its name, in place of an older archive of that name. The directory is not synced.
    func commit() throws(ArchiveError) {
        try attempt("rename") { () throws(Errno) in try calls.rename(temporary, directory.path.appending(name)) }
        exists = false
    }

    /// Makes a call of the system, again where a signal interrupted it.
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
