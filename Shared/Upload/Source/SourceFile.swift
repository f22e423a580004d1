import Hashing
import Files
import Glibc
import Recording
import Synchronization
import SystemPackage

/// An archive being uploaded. Keeps the file open; safe to read from any thread.
final class SourceFile: Sendable {
    let archive: UploadFile
    /// The division for an upload in parts.
    let plan: PartPlan
    private let descriptor: FileDescriptor
    private let digestsOnceTaken: Mutex<FileDigests?>

    /// - Parameter digests: the hashes, if they were computed before.
    /// - Throws: `unreadable` if the file cannot be opened or its length has changed.
    init(
        _ archive: UploadFile, sizes: PartPlan.Sizes = PartPlan.Sizes(), digests: FileDigests? = nil
    ) throws(UploadError) {
        self.archive = archive
        digestsOnceTaken = Mutex(digests?.sha256 == archive.sha256Bytes ? digests : nil)
        plan = PartPlan(bytes: archive.bytes, sizes: sizes)
        do {
            descriptor = try FileDescriptor.open(archive.path, .readOnly, options: [.closeOnExec, .noFollow])
        } catch {
            throw Self.unreadable(archive, "\(error)")
        }
        let bytes = Int((try? descriptor.stat().size) ?? -1)
        guard bytes == archive.bytes else {
            throw Self.changed(archive, "it has \(bytes) bytes in place of \(archive.bytes)")
        }
    }

    deinit { try? descriptor.close() }

    /// Whether the path leads to this file itself, not to a copy.
    func isFile(at path: FilePath) throws(Errno) -> Bool {
        try descriptor.stat().isSame(as: path.stat(followTargetSymlink: false))
    }

    /// Reads bytes of the file.
    /// - Returns: the number of bytes, at least one.
    /// - Throws: `unreadable`, also if the file ends too early.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(UploadError) -> Int {
        let count: Int
        do {
            count = try descriptor.read(fromAbsoluteOffset: Int64(offset), into: buffer)
        } catch {
            throw Self.unreadable(archive, "\(error)")
        }
        guard count > 0 else { throw Self.changed(archive, "it ends after \(offset) bytes") }
        return count
    }

    /// The hashes, if they were computed before.
    var knownDigests: FileDigests? { digestsOnceTaken.withLock { $0 } }

    /// The hashes of the file and its parts. The first call reads the whole file; later calls return the same value.
    /// - Throws: `unreadable` if the file has changed; `cancelled`.
    func digests(_ throttle: UploadThrottle) throws(UploadError) -> FileDigests {
        if let knownDigests { return knownDigests }
        var whole = (SHA256(), MD5())
        var parts: [FileDigests.Part] = []
        for range in plan.ranges {
            var part = (SHA256(), MD5())
            try forEachPiece(in: range, throttle) { piece in
                whole.0.update(bufferPointer: piece)
                whole.1.update(bufferPointer: piece)
                part.0.update(bufferPointer: piece)
                part.1.update(bufferPointer: piece)
            }
            parts.append(
                FileDigests.Part(range: range, sha256: part.0.finalize(), md5: part.1.finalize()))
        }
        let digests = FileDigests(
            sha256: whole.0.finalize(), md5: whole.1.finalize(), parts: parts)
        guard digests.sha256 == archive.sha256Bytes else {
            throw Self.changed(archive, "its SHA-256 is \(digests.sha256.hexDigits)")
        }
        digestsOnceTaken.withLock { $0 = digests }
        return digests
    }

    /// The SHA-256 of the file's first bytes.
    func sha256(ofFirst bytes: Int, _ throttle: UploadThrottle) throws(UploadError) -> [UInt8] {
        var hash = SHA256()
        try forEachPiece(in: 0..<bytes, throttle) { hash.update(bufferPointer: $0) }
        return hash.finalize()
    }

    private func forEachPiece(
        in range: Range<Int>, _ throttle: UploadThrottle, _ body: (UnsafeRawBufferPointer) -> Void
    ) throws(UploadError) {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 16)
        defer { buffer.deallocate() }
        var offset = range.lowerBound
        while offset < range.upperBound {
            if throttle.isCancelled { throw .cancelled(at: archive.name) }
            let wanted = UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(range.upperBound - offset))
            let count = try read(into: wanted, at: offset)
            body(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            offset += count
        }
    }

    private static func changed(_ archive: UploadFile, _ reason: String) -> UploadError {
        UploadError(
            .unreadable, at: archive.name, "\(archive.path) has changed: \(reason)",
            advice: "Make the archive again, and keep other programs out of the data directory.", retry: .never)
    }

    private static func unreadable(_ archive: UploadFile, _ reason: String) -> UploadError {
        UploadError(
            .unreadable, at: archive.name, "\(archive.path) can't be read: \(reason)",
            advice: "Make it readable, or make the archive again.", retry: .never)
    }
}
