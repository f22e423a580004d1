package import Files
import Hashing
package import Messages
import SystemPackage

/// A file that an export writes from beginning to end, and hashes on the way.
package final class OutputFile {
    /// Describes a finished file.
    package struct Written: Codable, Hashable, Sendable {
        /// The file's path in the export's directory.
        package var name: String
        package var bytes: Int
        package var sha256: String
    }

    /// The buffer is written when it holds this many bytes.
    private static let piece = 1 << 20

    let name: String
    /// Bytes that are not written yet.
    package var buffer = ByteBuffer(capacity: OutputFile.piece + (64 << 10))

    private let file: OpenFile
    /// The file's length without the buffer, in bytes.
    package private(set) var written = 0
    private var hash = SHA256()

    init(_ name: String, creating path: FilePath, calls: FileCalls) throws(RecordingError) {
        self.name = name
        file = try OpenFile(creating: path, [], calls: calls)
    }

    /// Writes the buffer if it is full.
    @inline(__always)
    package func writeIfFull() throws(RecordingError) {
        if buffer.count >= Self.piece { try write() }
    }

    private func write() throws(RecordingError) {
        try buffer.withUnsafeBytes { bytes throws(RecordingError) in
            try file.write(bytes, at: Int64(written))
            hash.update(bufferPointer: bytes)
        }
        written += buffer.count
        buffer.removeAll()
    }

    /// Writes the rest, and makes the whole file durable.
    func finish() throws(RecordingError) -> Written {
        try write()
        try file.syncAll()
        return Written(name: name, bytes: written, sha256: hash.finalize().hexDigits)
    }
}
