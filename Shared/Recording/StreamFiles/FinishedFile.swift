package import Files
import Hashing
package import Messages
package import SystemPackage

/// A log file that is complete and will not change any more.
package struct FinishedFile: Codable, Hashable, Sendable {
    package var name: String
    package var bytes: Int
    /// How many samples are in it, markers not counted.
    package var samples: Int
    /// SHA-256 of its bytes, in lower-case hexadecimal digits.
    package var sha256: String
    /// The time of its first sample in seconds since the session's start, in a session with a ring; `nil` if that is unknown.
    package var from: Double?
    /// The time of its last sample.
    package var to: Double?
    /// When it was begun, in seconds since the session's start on the recorder's clock, in a session with a ring.
    package var begun: Double?
    /// When it was finished, likewise.
    package var ended: Double?
    /// When the session's ring removed it.
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
