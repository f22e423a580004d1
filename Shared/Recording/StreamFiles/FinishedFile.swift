package import Files
import Hashing
package import Messages
package import SystemPackage

/// A complete stream file that will not change any more.
package struct FinishedFile: Codable, Hashable, Sendable {
    package var name: String
    package var bytes: Int
    /// Samples in the file, not counting markers.
    package var samples: Int
    /// SHA-256 of the file, in lower-case hexadecimal digits.
    package var sha256: String
    /// The time of the first sample in seconds since the session's start, in a session with a ring; `nil` if unknown.
    package var from: Double?
    /// The time of the last sample.
    package var to: Double?
    /// The earliest date of the recorder's clock while the file was written, in seconds since the session's start;
    /// only in a session with a ring.
    package var begun: Double?
    /// The latest date, likewise.
    package var ended: Double?
    /// When the session's ring removed the file.
    package var removed: WallTime?

    package init(name: String, bytes: Int, samples: Int, sha256: String) {
        self.name = name
        self.bytes = bytes
        self.samples = samples
        self.sha256 = sha256
    }

    package static func measure(_ path: FilePath) throws(RecordingError) -> (bytes: Int, sha256: String) {
        var hash = SHA256()
        var count = 0
        try OpenFile(path, .readOnly, action: "read").forEachPiece { piece in
            hash.update(bufferPointer: piece)
            count += piece.count
        }
        return (count, hash.finalize().hexDigits)
    }

    /// The SHA-256 of bytes, in lower-case hexadecimal digits.
    package static func sha256(of bytes: [UInt8]) -> String { SHA256.hash(data: bytes).hexDigits }
}
