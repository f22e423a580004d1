package import Files
import SystemPackage

/// Reads one file's bytes, which come in pieces of any length, in memory that does not grow with the file.
package protocol ImportDecoder {
    /// Takes what is found.
    typealias Emit = (Decoded) throws(RecordingError) -> Void

    /// Reads the next bytes.
    /// - Throws: `unreadable` if the file is not one of this format, and what `emit` throws.
    mutating func decode(_ bytes: UnsafeRawBufferPointer, _ emit: Emit) throws(RecordingError)

    /// Says that the file ends here.
    mutating func finish(_ emit: Emit) throws(RecordingError)
}

extension RecordingError {
    /// A file that can't be imported, before its path is known.
    static func notImported(_ reason: String, _ advice: String) -> RecordingError {
        RecordingError(.unreadable, action: "import", reason: reason, advice: advice)
    }

    /// The same error with the path of the file.
    func of(_ path: FilePath) -> RecordingError {
        guard self.path == nil else { return self }
        return RecordingError(code, action: action, path: path, errno: errno, reason: reason, advice: advice)
    }
}
