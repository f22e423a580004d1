import Hashing
import Files
import Glibc
import Messages
import ServiceKit
import SystemPackage

/// A directory to which files are copied, such as a network share or a second disk.
///
/// A file is copied under a temporary name, synced, read back and compared, and only then renamed, so that a partial file is
/// never visible. The next attempt continues an interrupted copy, even in another run of the program. A copy by another machine
/// or container, which may still be running, is continued only a minute after its last write. An existing file of the name is
/// never replaced. The directory is not created: if a share is not mounted, that would put it on the local disk. Name a directory
/// inside the share.
struct DirectoryReceiver: Receiver {
    let directory: FilePath

    private static let pieceSize = 256 << 10

    func location(of name: String) -> String {
        "\(UploadTarget.directory(directory.appending(name)))"
    }

    func upload(
        _ source: SourceFile, over connection: HTTPConnection, _ throttle: UploadThrottle
    ) throws(UploadError) -> UploadConfirmation {
        let file = source.archive
        let final = directory.appending(file.name)
        let temporary = directory.appending(Self.temporaryName(of: file))
        let begun = takeLeftovers(of: file, as: temporary)
        if try exists(final, file) {
            _ = unlink(temporary.string)
            try refuseItself(source, at: final)
            try compare(final, file, .different, throttle)
            try sync(file)
            removeLeftovers(of: file)
            return confirmation(of: file, wasThere: true)
        }
        do throws(UploadError) {
            var isWhole = try copy(source, to: temporary, from: begun, throttle)
            if !isWhole, begun > 0 { isWhole = try copy(source, to: temporary, from: 0, throttle) }
            guard isWhole else {
                throw UploadError.mismatch(.corrupted, at: location(of: file.name), Self.difference)
            }
            try name(temporary, final, file)
            try sync(file)
        } catch {
            // The bytes copied so far may be right; the next attempt continues after them.
            if !error.mayContinue { _ = unlink(temporary.string) }
            throw error
        }
        removeLeftovers(of: file)
        return confirmation(of: file, wasThere: false)
    }

    // MARK: - Steps

    private func exists(_ path: FilePath, _ file: UploadFile) throws(UploadError) -> Bool {
        try attempt(file) {
            do throws(Errno) {
                guard try path.stat(followTargetSymlink: false).type == .regular else { throw Errno.fileExists }
                return true
            } catch {
                guard error == .noSuchFileOrDirectory else { throw error }
                // Only the file may be missing; the directory must exist.
                _ = try directory.stat()
                return false
            }
        }
    }

    /// Refuses to confirm the archive as a copy of itself: the only one could then be removed.
    private func refuseItself(_ source: SourceFile, at path: FilePath) throws(UploadError) {
        let isItself = try attempt(source.archive) { try source.isFile(at: path) }
        guard isItself else { return }
        throw UploadError(
            .badConfiguration, at: location(of: source.archive.name), "this is the archive itself",
            advice: "Name another directory in upload-to.", retry: .never)
    }

    /// Copies the rest of the file after the existing bytes, and reads the whole copy back.
    /// - Returns: whether the copy equals the file.
    private func copy(
        _ source: SourceFile, to path: FilePath, from begun: Int, _ throttle: UploadThrottle
    ) throws(UploadError) -> Bool {
        try write(source, to: path, from: begun, throttle)
        return try isSame(path, source.archive, throttle)
    }

    private func write(
        _ source: SourceFile, to path: FilePath, from begun: Int, _ throttle: UploadThrottle
    ) throws(UploadError) {
        let file = source.archive
        if begun == 0 { _ = unlink(path.string) }
        let target = try attempt(file) {
            try FileDescriptor.open(
                path, .writeOnly,
                options: begun == 0 ? [.create, .exclusiveCreate, .closeOnExec] : [.closeOnExec, .noFollow],
                permissions: begun == 0 ? .byFileMode : nil)
        }
        defer { try? target.close() }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.pieceSize, alignment: 16)
        defer { buffer.deallocate() }
        var offset = begun
        while offset < file.bytes {
            let allowed = throttle.allowance(upTo: min(buffer.count, file.bytes - offset))
            guard allowed > 0 else { throw .cancelled(at: location(of: file.name)) }
            let piece = UnsafeMutableRawBufferPointer(rebasing: buffer[..<allowed])
            let count = try source.read(into: piece, at: offset)
            try attempt(file) {
                _ = try target.writeAll(
                    toAbsoluteOffset: Int64(offset), UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            }
            offset += count
        }
        try attempt(file) { if fsync(target.rawValue) != 0 { throw Errno(rawValue: errno) } }
    }

    private static let difference = "the stored file differs from the one that was sent"

    private func compare(
        _ path: FilePath, _ file: UploadFile, _ code: UploadError.Code, _ throttle: UploadThrottle
    ) throws(UploadError) {
        guard try isSame(path, file, throttle) else {
            throw UploadError.mismatch(code, at: location(of: file.name), Self.difference)
        }
    }

    /// Reads the file back, from the disk if the system can drop its cache.
    private func isSame(
        _ path: FilePath, _ file: UploadFile, _ throttle: UploadThrottle
    ) throws(UploadError) -> Bool {
        let target = try attempt(file) {
            try FileDescriptor.open(path, .readOnly, options: [.closeOnExec, .noFollow])
        }
        defer { try? target.close() }
        _ = posix_fadvise(target.rawValue, 0, 0, POSIX_FADV_DONTNEED)
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.pieceSize, alignment: 16)
        defer { buffer.deallocate() }
        var hash = SHA256()
        var offset = 0
        while offset <= file.bytes {
            if throttle.isCancelled { throw .cancelled(at: location(of: file.name)) }
            let count = try attempt(file) {
                try target.read(fromAbsoluteOffset: Int64(offset), into: buffer)
            }
            if count == 0 { break }
            hash.update(bufferPointer: UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            offset += count
        }
        return offset == file.bytes && hash.finalize() == file.sha256Bytes
    }

    private func name(_ temporary: FilePath, _ final: FilePath, _ file: UploadFile) throws(UploadError) {
        try attempt(file) {
            // link(2) never replaces a file. On shares without links, rename(2) is used without a further check.
            if link(temporary.string, final.string) == 0 {
                _ = unlink(temporary.string)
                return
            }
            if errno == EEXIST { throw Errno.fileExists }
            if rename(temporary.string, final.string) != 0 { throw Errno(rawValue: errno) }
        }
    }

    private func sync(_ file: UploadFile) throws(UploadError) {
        try attempt(file) {
            let descriptor = try FileDescriptor.open(directory, .readOnly, options: [.directory, .closeOnExec])
            defer { try? descriptor.close() }
            // Some shares cannot sync a directory and return these errors.
            if fsync(descriptor.rawValue) != 0, errno != EINVAL, errno != ENOTSUP { throw Errno(rawValue: errno) }
        }
    }

    // MARK: - Names

    /// The name of an unfinished copy. Its last part identifies the bytes, because a recreated archive has the same name.
    private static func temporaryName(of file: UploadFile) -> String {
        let number = String(UInt64.random(in: 0...UInt64.max), radix: 36)
        return ".\(file.name).\(host).\(getpid()).\(number)\(ending(of: file))"
    }

    /// The suffix of all unfinished copies of the same bytes.
    private static func ending(of file: UploadFile) -> String { "-\(file.sha256.prefix(16)).part" }

    /// The name of this machine, since several use a share.
    private static let host = (HostName.current ?? "").filter { $0 != "/" && $0 != "." }

    /// The names of unfinished copies of archives of this name.
    private func leftovers(of file: UploadFile) -> [String] {
        guard let entries = opendir(directory.string) else { return [] }
        defer { closedir(entries) }
        var names: [String] = []
        while let entry = readdir(entries) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { name in
                name.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name.hasPrefix(".\(file.name)."), name.hasSuffix(".part") { names.append(name) }
        }
        return names
    }

    /// Takes over interrupted copies: those of a process of this machine that has ended, those of an earlier process with this
    /// process's number, and those unchanged for an hour. A minute is enough for copies of the same bytes: only the archiver that
    /// has claimed the session makes them, and a replaced container never returns under its old name. The longest copy of the
    /// same bytes is renamed and continued; the others are removed.
    /// - Returns: the number of bytes that already exist.
    private func takeLeftovers(of file: UploadFile, as temporary: FilePath) -> Int {
        var longest: (path: FilePath, bytes: Int)?
        for name in leftovers(of: file) {
            let path = directory.appending(name)
            guard let status = try? path.stat(followTargetSymlink: false), status.type == .regular else { continue }
            let writer = name.dropFirst(file.name.count + 2).split(separator: ".")
            let isOurs = writer.first == Self.host[...] && !Self.isAnother(pid_t(writer.dropFirst().first ?? "") ?? 0)
            let isSame = name.hasSuffix(Self.ending(of: file))
            let age = WallTime.now.seconds - Double(status.st_mtim.tv_sec)
            guard isOurs || age > (isSame ? 60 : 3600) else { continue }
            let bytes = Int(status.size)
            if isSame, bytes > longest?.bytes ?? 0, bytes <= file.bytes {
                if let longest { _ = unlink(longest.path.string) }
                longest = (path, bytes)
            } else {
                _ = unlink(path.string)
            }
        }
        guard let longest, rename(longest.path.string, temporary.string) == 0 else { return 0 }
        return longest.bytes
    }

    /// Removes unfinished copies of a file that is complete. A process that is still copying finds the file at its next attempt.
    private func removeLeftovers(of file: UploadFile) {
        for name in leftovers(of: file) where name.hasSuffix(Self.ending(of: file)) {
            _ = unlink(directory.appending(name).string)
        }
    }

    /// Whether a different process with this number is running.
    private static func isAnother(_ process: pid_t) -> Bool {
        process > 0 && process != getpid() && (kill(process, 0) == 0 || errno == EPERM)
    }

    private func confirmation(of file: UploadFile, wasThere: Bool) -> UploadConfirmation {
        UploadConfirmation(
            location: location(of: file.name), bytes: file.bytes, sha256: file.sha256, proof: .readBack,
            checksum: file.sha256, wasThere: wasThere, date: .now)
    }

    private func attempt<Value>(
        _ file: UploadFile, _ body: () throws -> Value
    ) throws(UploadError) -> Value {
        do {
            return try body()
        } catch {
            // System calls are repeated after a signal; they throw only `Errno`.
            throw UploadError(error as? Errno ?? .ioError, at: location(of: file.name))
        }
    }
}

extension UploadError {
    /// Whether the copied bytes may be continued: the error is not about their content, and the disk is not full.
    fileprivate var mayContinue: Bool { retry == .later && code != .full && code != .corrupted }
}
