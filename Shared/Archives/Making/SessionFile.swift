import Hashing
import Encryption
import Files
import Glibc
import Recording
import SystemPackage

/// A file of a session while it is read into an archive. Reading returns the bytes as of opening, or an error.
final class SessionFile: ByteSource {
    /// Attributes that reveal whether a file has changed.
    private struct Version: Equatable {
        var device: UInt
        var inode: UInt
        var size: Int
        var modified: Int
        var changed: Int

        init(_ status: stat) {
            device = UInt(status.st_dev)
            inode = UInt(status.st_ino)
            size = Int(status.st_size)
            modified = status.st_mtim.tv_sec * 1_000_000_000 + status.st_mtim.tv_nsec
            changed = status.st_ctim.tv_sec * 1_000_000_000 + status.st_ctim.tv_nsec
        }
    }

    private let path: FilePath
    private let name: String
    private let descriptor: FileDescriptor
    private let version: Version
    private var place = 0
    private var hash = SHA256()
    /// The number of bytes in the hash.
    private var hashed = 0
    private let keepsBytes: Bool
    /// The bytes in the hash, if they are to be kept.
    private(set) var bytes: [UInt8] = []

    /// Opens a regular file; a symbolic link is not accepted.
    ///
    /// - Throws: `notFound`, `inputOutput`.
    init(_ path: FilePath, keepingBytes keepsBytes: Bool = false) throws(ArchiveError) {
        self.path = path
        self.keepsBytes = keepsBytes
        name = path.lastComponent?.string ?? path.string
        do {
            // Non-blocking, because opening a pipe would wait for its other end.
            descriptor = try FileDescriptor.open(
                path, .readOnly, options: [.noFollow, .closeOnExec, .nonBlocking])
        } catch {
            let errno = error as? Errno ?? .ioError
            throw ArchiveError(
                errno == .noSuchFileOrDirectory ? .notFound : .inputOutput,
                "Could not read \(path): \(errno). Make it readable for this user. The session is unchanged.",
                file: name)
        }
        var status = stat()
        let exists = fstat(descriptor.rawValue, &status) == 0
        version = Version(status)
        guard exists, status.st_mode & S_IFMT == S_IFREG else {
            try? descriptor.close()
            throw ArchiveError(
                .inputOutput,
                "Could not read \(path): it is not a regular file. Move it out of the session's directory.",
                file: name)
        }
        // Only a hint: the file is read once, from beginning to end.
        _ = posix_fadvise(descriptor.rawValue, 0, 0, POSIX_FADV_SEQUENTIAL)
    }

    deinit {
        // Nothing was written, so an error does not matter.
        try? descriptor.close()
    }

    var count: Int { version.size }
    var isAtEnd: Bool { place == version.size }

    var changed: ArchiveError {
        ArchiveError(
            .changed,
            "Could not archive \(path): it changed while it was read. Keep other programs out of the data directory, and "
                + "try again. The session is unchanged.", file: name)
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws(ArchiveError) -> Int {
        if Task.isCancelled { throw ArchiveError(.stopped, "No archive was made: the program is stopping.") }
        let wanted = min(buffer.count, version.size - place)
        var count = 0
        while count < wanted {
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[count..<wanted])
            let read: Int
            do {
                read = try descriptor.read(fromAbsoluteOffset: Int64(place + count), into: rest)
            } catch {
                throw ArchiveError(
                    .inputOutput,
                    "Could not read \(path): \(error as? Errno ?? .ioError). Check the system's log for trouble with "
                        + "this disk. The session is unchanged.", file: name)
            }
            // The file has become shorter.
            if read == 0 { throw changed }
            count += read
        }
        if place == hashed {
            hash.update(bufferPointer: UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            hashed += count
            if keepsBytes { bytes.append(contentsOf: buffer[..<count]) }
        }
        place += count
        return count
    }

    func rewind() { place = 0 }

    /// Reads the rest of the file, and returns its SHA-256 as `conclude` does.
    func readToEnd() throws(ArchiveError) -> String {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 16)
        defer { buffer.deallocate() }
        while !isAtEnd { _ = try read(into: buffer) }
        return try conclude()
    }

    /// The SHA-256 of the whole file, in lower-case hexadecimal digits.
    ///
    /// - Throws: `changed` if the file has changed since it was opened.
    func conclude() throws(ArchiveError) -> String {
        precondition(hashed == version.size, "the file was read to its end")
        var status = stat()
        guard fstat(descriptor.rawValue, &status) == 0, Version(status) == version else { throw changed }
        return hash.finalize().hexDigits
    }
}
