package import Files
import Hashing

/// The SHA-256 of a growing file, computed from each piece as it is written, while the bytes are in the processor's cache, so
/// that no bytes must be read when the file is finished. Bytes that another program wrote before are read once.
///
/// Durable bytes are dropped from the page cache; otherwise a session would fill it with files that no program reads. Confined to
/// one thread.
package struct SegmentHash {
    /// The number of bytes hashed so far.
    package private(set) var count = 0

    private var hash = SHA256()
    private var dropped = DroppedBytes()

    /// Bytes at the file's end that stay in the cache, because they will be written to.
    private static let kept = 64 << 10

    package init() {}

    /// Hashes bytes that were written at an offset, if they follow the hashed ones. Otherwise, `update` reads them later.
    mutating func add(_ bytes: UnsafeRawBufferPointer, at offset: Int) {
        guard offset == count else { return }
        hash.update(bufferPointer: bytes)
        count += bytes.count
    }

    /// Reads and hashes the file's bytes that are not hashed yet.
    ///
    /// - Parameters:
    ///   - file: always the same.
    ///   - stable: up to where the file will not change.
    ///   - synced: up to where it is durable; all of it by default.
    ///   - limit: most bytes to hash, so that callers with other work are not held up.
    /// - Throws: `unreadable` if the file is shorter than that.
    package mutating func update(
        _ file: OpenFile, upTo stable: Int, synced: Int = .max, atMost limit: Int = 256 << 20
    ) throws(RecordingError) {
        let end = min(stable, count.addingReportingOverflow(limit).overflow ? .max : count + limit)
        defer { dropped.drop(file, before: min(count, synced) - Self.kept) }
        guard count < end else { return }
        var hash = hash
        var read = count
        try file.forEachPiece(in: count..<end) { piece in
            hash.update(bufferPointer: piece)
            read += piece.count
        }
        guard read == end else {
            throw .changed(file.path, action: "read", "it has \(read) bytes in place of \(stable)")
        }
        self.hash = hash
        count = end
    }

    /// The hash of the bytes so far, in lower-case hexadecimal digits.
    package var digits: String { hash.finalize().hexDigits }
}
