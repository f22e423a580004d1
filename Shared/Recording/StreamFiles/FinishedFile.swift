package import Files
import Hashing
package import SystemPackage

/// A log file that is complete and will not change any more.
package struct FinishedFile: Codable, Hashable, Sendable {
    package var name: String
    package var bytes: Int
    /// How many samples are in it, markers not counted.
    package var samples: Int
    /// SHA-256 of its bytes, in lower-case hexadecimal digits.
    package var sha256: String

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
}
