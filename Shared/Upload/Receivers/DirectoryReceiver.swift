import Hashing
import Files
import Glibc
import Messages
import ServiceKit
import SystemPackage

/// A directory that files are copied into: a share of another machine, a second disk.
///
/// A file is copied under another name, synced, read back and compared, and gets its name then, so that nobody ever
/// finds half of it. A copy that was interrupted is continued by the next try, also of another run of the program; one of another
/// machine or container, which may still be running, only a minute after its last write.
/// A file that has the name already is never replaced. The directory itself is not made: where a share
/// is not mounted it would be made on the disk that the share is to relieve. Name one inside the share.
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
            // What is there by now may be right; the next try continues behind it.
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
                // The file is not there; the directory has to be.
                _ = try directory.stat()
                return false
            }
        }
    }

    /// Copies what follows on the bytes that are there, and reads the whole back.
    /// - Returns: whether the copy is the file.
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

    /// Reads what is there, from the disk if the system can be told to forget what it has in memory.
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
            // link(2) never replaces what is there. Some shares have no links; there, nobody else is looked for again.
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
            // Some shares have nothing to sync in a directory, and say so.
            if fsync(descriptor.rawValue) != 0, errno != EINVAL, errno != ENOTSUP { throw Errno(rawValue: errno) }
        }
    }

    // MARK: - Names

    /// The name of a copy that is being made. Its last part says of which bytes: an archive that was made anew has the same name.
    private static func temporaryName(of file: UploadFile) -> String {
        let number = String(UInt64.random(in: 0...UInt64.max), radix: 36)
        return ".\(file.name).\(host).\(getpid()).\(number)\(ending(of: file))"
    }

    /// How the names of all copies of the same bytes end.
    private static func ending(of file: UploadFile) -> String { "-\(file.sha256.prefix(16)).part" }

    /// This machine, since a share has several.
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

    /// Takes over the copies that interrupted tries left behind: those by a process of this machine that has ended, or by an
    /// earlier process with our number, and those unchanged for an hour. For copies of the same bytes a minute is enough: only
    /// the archiver that has claimed the session makes them, and a container that was replaced never returns under its old name.
    /// The longest copy of the same bytes is continued under another name, and the others are removed.
    /// - Returns: how many bytes there are to continue behind.
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

    /// Removes unfinished copies of a file that is there now. If somebody still makes one, the next try finds the file.
    private func removeLeftovers(of file: UploadFile) {
        for name in leftovers(of: file) where name.hasSuffix(Self.ending(of: file)) {
            _ = unlink(directory.appending(name).string)
        }
    }

    /// Whether another process of this number is running.
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
            // The calls are made again where a signal interrupted them; all that they throw is an Errno.
            throw UploadError(error as? Errno ?? .ioError, at: location(of: file.name))
        }
    }
}

extension UploadError {
    /// Whether what was copied before it may be continued: it says nothing of the bytes, and room is not what lacks.
    fileprivate var mayContinue: Bool { retry == .later && code != .full && code != .corrupted }
}
