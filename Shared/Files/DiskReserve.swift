import Glibc
import SystemPackage

/// A file that occupies room on the disk, so that some can be freed when the disk is full.
///
/// Release it to write the final data; restore it when there is room again.
package struct DiskReserve: Sendable {
    private let directory: Directory
    private let path: FilePath
    private let bytes: Int

    /// Creates a reserve of `bytes`; its file exists already, or `restore` creates it.
    package init(in directory: Directory, name: String = ".reserve", bytes: Int = 1 << 20) {
        self.directory = directory
        path = directory.path.appending(name)
        self.bytes = bytes
    }

    /// Whether the file exists with all of its room allocated.
    package var exists: Bool {
        (try? path.stat(followTargetSymlink: false)).map { $0.sizeAllocated >= bytes } ?? false
    }

    package func release() throws(RecordingError) {
        do {
            try Directory.removeFile(path)
        } catch {
            if error.code != .notFound { throw error }
        }
    }

    /// Allocates the room, unless that would leave less than the same amount free. Creates the directory if it is missing.
    @discardableResult
    package func restore() throws(RecordingError) -> Bool {
        if exists { return true }
        try directory.create()
        try release()
        guard try directory.freeBytes() >= 2 * bytes else { return false }
        let file = try OpenFile(
            path, .writeOnly, options: [.create, .exclusiveCreate], permissions: .ownerReadWrite, action: "create")
        do throws(Errno) {
            try SystemCall.repeating { () throws(Errno) in
                // Returns its error instead of setting errno.
                let answer = posix_fallocate(file.descriptor.rawValue, 0, off_t(bytes))
                if answer != 0 { throw Errno(rawValue: answer) }
            }
        } catch {
            try release()
            if error == .noSpace || error == .diskQuotaExceeded { return false }
            throw RecordingError(error, action: "reserve room in", path: path)
        }
        return true
    }
}
