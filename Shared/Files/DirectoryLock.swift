import Glibc
import SystemPackage

/// An exclusive claim on a task that several programs could do: a flock(2) lock on a hidden file in the directory that the task
/// concerns.
///
/// The system releases the lock when the program ends, however it ends. The file is removed with this claim, or with the next
/// one.
package final class DirectoryLock: Sendable {
    private let file: OpenFile

    private init(_ file: OpenFile) {
        self.file = file
    }

    deinit {
        // While still locked, so that another claim's new file is not removed.
        _ = unlink(file.path.string)
    }

    package static func fileName(_ name: String) -> String { ".\(name)\(suffix)" }

    /// The name of the task whose claim has this file; nil if it is not a claim's file.
    package static func name(ofFile fileName: String) -> String? {
        fileName.hasPrefix(".") && fileName.hasSuffix(suffix) && fileName.utf8.count > suffix.utf8.count + 1
            ? String(fileName.dropFirst().dropLast(suffix.count)) : nil
    }

    private static let suffix = ".claim"

    /// Claims a task.
    ///
    /// - Returns: nil while it is claimed elsewhere, in this program or another.
    package static func take(_ name: String, in directory: Directory) throws(RecordingError) -> DirectoryLock? {
        guard let file = try OpenFile.lock(directory.path.appending(fileName(name))) else { return nil }
        // It remains after a kill.
        directory.giveOwner(to: file.descriptor)
        return DirectoryLock(file)
    }
}
