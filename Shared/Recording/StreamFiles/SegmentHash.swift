package import Files
import Hashing

/// The SHA-256 of a file that grows, taken of each piece as it is written, while the processor has it at hand, so that
/// nothing is left to be read when the file is finished. What another program wrote before is read once.
///
/// Durable bytes are dropped from the page cache; otherwise a session would fill it with files that nobody reads.
/// Confined to one thread.
package struct SegmentHash {
    /// How many bytes are hashed already.
    package private(set) var count = 0

    private var hash = SHA256()
    private var dropped = DroppedBytes()

    /// What is near the file's end stays in memory: it will be written to.
    private static let kept = 64 << 10

    package init() {}

    /// Hashes bytes that were written at an offset, if they follow on what is hashed. If not, `update` reads them.
    mutating func add(_ bytes: UnsafeRawBufferPointer, at offset: Int) {
        guard offset == count else { return }
        hash.update(bufferPointer: bytes)
        count += bytes.count
    }

    /// Reads and hashes what is not hashed yet of the file's bytes.
    ///
    /// - Parameters:
    ///   - file: always the same.
    ///   - stable: up to where the file will stay as it is.
    ///   - synced: up to where it is durable; all of it by default.
    ///   - limit: how many bytes to hash at most, so that a caller who has others waiting is not held up.
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
