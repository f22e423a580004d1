import Glibc
import SystemPackage

/// A piece of work that one of several programs has taken: a lock of flock(2) on a hidden file in the directory that the
/// work is about.
///
/// The system takes it back when the program ends, however it ends; the file goes with the claim, or with the next one.
package final class DirectoryLock: Sendable {
    private let file: OpenFile

    private init(_ file: OpenFile) {
        self.file = file
    }

    deinit {
        // While it is still locked, so that nobody's new file is hit.
        _ = unlink(file.path.string)
    }

    package static func fileName(_ name: String) -> String { ".\(name)\(suffix)" }

    /// What a claim's file with this name is about; `nil` if it is not one.
    package static func name(ofFile fileName: String) -> String? {
        fileName.hasPrefix(".") && fileName.hasSuffix(suffix) && fileName.utf8.count > suffix.utf8.count + 1
            ? String(fileName.dropFirst().dropLast(suffix.count)) : nil
    }

    private static let suffix = ".claim"

    /// Takes a piece of work.
    ///
    /// - Returns: `nil` while somebody else has it, in this program or another.
    package static func take(_ name: String, in directory: Directory) throws(RecordingError) -> DirectoryLock? {
        try OpenFile.lock(directory.path.appending(fileName(name))).map { DirectoryLock($0) }
    }
}
