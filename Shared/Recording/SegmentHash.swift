import Crypto

/// The SHA-256 of a file that grows, taken piece by piece as parts of it become durable, so that nothing is left to be
/// read when the file is finished.
///
/// What was hashed is dropped from the system's memory: a session would else fill it with logs that nobody reads.
/// Confined to one thread.
package struct SegmentHash {
    /// How many bytes are hashed already.
    package private(set) var count = 0

    private var hash = SHA256()
    private var dropped = DroppedBytes()

    /// What is near the file's end stays in memory: it will be written to.
    private static let kept = 64 << 10

    package init() {}

    /// Goes on to hash the file's bytes.
    ///
    /// - Parameters:
    ///   - file: always the same, and synced.
    ///   - stable: up to where the file will stay as it is.
    ///   - limit: how many bytes to hash at most, so that a caller who has others waiting is not held up.
    /// - Throws: `unreadable` if the file is shorter than that.
    package mutating func update(
        _ file: OpenFile, upTo stable: Int, atMost limit: Int = 256 << 20
    ) throws(RecordingError) {
        let end = min(stable, count.addingReportingOverflow(limit).overflow ? .max : count + limit)
        guard count < end else { return }
        var hash = hash
        var read = count
        try file.forEachPiece(in: count..<end) { piece in
            hash.update(bufferPointer: piece)
            read += piece.count
        }
        guard read == end else {
            throw RecordingError(
                .unreadable, action: "read", path: file.path, reason: "it has \(read) bytes in place of \(stable)",
                advice: "Another program must have changed it; keep others out of the data directory.")
        }
        self.hash = hash
        count = end
        dropped.drop(file, before: count - Self.kept)
    }

    /// The hash of the bytes so far, in lower-case hexadecimal digits.
    package var digits: String { hash.finalize().hexDigits }
}
