import Hashing
import Files
import Glibc
import Messages
import SystemPackage

/// A directory that files are copied into: a share of another machine, a second disk.
///
/// A file is copied under another name, synced, read back and compared, and gets its name then, so that nobody ever
/// finds half of it. One that has the name already is never replaced. The directory itself is not made: where a share
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
        removeLeftovers(of: file)
        if try exists(final, file) {
            try compare(final, file, .different, throttle)
            try sync(file)
            return confirmation(of: file, wasThere: true)
        }
        let temporary = directory.appending(Self.temporaryName(of: file.name))
        do throws(UploadError) {
            try copy(source, to: temporary, throttle)
            try compare(temporary, file, .corrupted, throttle)
            try name(temporary, final, file)
            try sync(file)
        } catch {
            _ = unlink(temporary.string)
            throw error
        }
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

    private func copy(_ source: SourceFile, to path: FilePath, _ throttle: UploadThrottle) throws(UploadError) {
        let file = source.archive
        let target = try attempt(file) {
            try FileDescriptor.open(
                path, .writeOnly, options: [.create, .exclusiveCreate, .closeOnExec],
                permissions: .byFileMode)
        }
        defer { try? target.close() }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.pieceSize, alignment: 16)
        defer { buffer.deallocate() }
        var offset = 0
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

    /// Reads what is there, from the disk if the system can be told to forget what it has in memory.
    private func compare(
        _ path: FilePath, _ file: UploadFile, _ code: UploadError.Code, _ throttle: UploadThrottle
    ) throws(UploadError) {
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
        guard offset == file.bytes, hash.finalize() == file.sha256Bytes else {
            throw UploadError.mismatch(
                code, at: location(of: file.name), "the stored file differs from the one that was sent")
        }
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

    private static func temporaryName(of name: String) -> String {
        ".\(name).\(host).\(getpid()).\(String(UInt64.random(in: 0...UInt64.max), radix: 36)).part"
    }

    /// This machine, since a share has several.
    private static let host: String = {
        var name = [CChar](repeating: 0, count: 256)
        gethostname(&name, name.count - 1)
        return String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
            .filter { $0 != "/" && $0 != "." }
    }()

    /// Removes what earlier tries left that were killed: copies by a process of this machine that has ended, or by an
    /// earlier one of our number, and copies that nobody has written to for an hour.
    private func removeLeftovers(of file: UploadFile) {
        guard let entries = opendir(directory.string) else { return }
        defer { closedir(entries) }
        while let entry = readdir(entries) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { name in
                name.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            guard name.hasPrefix(".\(file.name)."), name.hasSuffix(".part") else { continue }
            let path = directory.appending(name)
            guard let status = try? path.stat(followTargetSymlink: false), status.type == .regular else { continue }
            let writer = name.dropFirst(file.name.count + 2).split(separator: ".")
            let isOurs = writer.first == Self.host[...] && !Self.isAnother(pid_t(writer.dropFirst().first ?? "") ?? 0)
            if isOurs || WallTime.now.seconds - Double(status.st_mtim.tv_sec) > 3600 { _ = unlink(path.string) }
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
