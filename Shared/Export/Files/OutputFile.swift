package import Files
import Hashing
package import Messages
import SystemPackage

/// A file that an export writes from its beginning to its end, hashed on the way.
package final class OutputFile {
    /// What an export wrote.
    package struct Written: Codable, Hashable, Sendable {
        /// Its path in the export's directory.
        package var name: String
        package var bytes: Int
        package var sha256: String
    }

    /// Bytes that are written at once.
    private static let piece = 1 << 20

    let name: String
    /// What is not written yet.
    package var buffer = ByteBuffer(capacity: OutputFile.piece + (64 << 10))

    private let file: OpenFile
    /// How long the file is without the buffer.
    package private(set) var written = 0
    private var hash = SHA256()

    init(_ name: String, creating path: FilePath, calls: FileCalls) throws(RecordingError) {
        self.name = name
        file = try OpenFile(creating: path, [], calls: calls)
    }

    /// Writes what has been appended, if it is much.
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

    /// Writes the rest and makes all of it durable.
    func finish() throws(RecordingError) -> Written {
        try write()
        try file.syncAll()
        return Written(name: name, bytes: written, sha256: hash.finalize().hexDigits)
    }
}
