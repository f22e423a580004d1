package import Files
import SystemPackage

/// Decodes the bytes of one file, which come in pieces of any length, in memory that does not grow with the file.
package protocol ImportDecoder {
    /// Takes a found item.
    typealias Emit = (Decoded) throws(RecordingError) -> Void

    /// Reads the next bytes.
    /// - Throws: `unreadable` if the file is not of this format, and the errors of `emit`.
    mutating func decode(_ bytes: UnsafeRawBufferPointer, _ emit: Emit) throws(RecordingError)

    /// Ends the file.
    mutating func finish(_ emit: Emit) throws(RecordingError)
}

extension RecordingError {
    /// The error for a file that cannot be imported, before its path is known.
    static func notImported(_ reason: String, _ advice: String) -> RecordingError {
        RecordingError(.unreadable, action: "import", reason: reason, advice: advice)
    }

    /// The same error with the path of the file.
    func of(_ path: FilePath) -> RecordingError {
        guard self.path == nil else { return self }
        return RecordingError(code, action: action, path: path, errno: errno, reason: reason, advice: advice)
    }
}
