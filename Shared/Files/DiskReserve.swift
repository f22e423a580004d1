import Glibc
import SystemPackage

/// A file that takes up room on the disk, so that there is some left when the disk is full.
///
/// Release it to write what must be written at the end; restore it when there is room again.
package struct DiskReserve: Sendable {
    private let directory: Directory
    private let path: FilePath
    private let bytes: Int

    /// A reserve of so many bytes, which exists or is made by `restore`.
    package init(in directory: Directory, name: String = ".reserve", bytes: Int = 1 << 20) {
        self.directory = directory
        path = directory.path.appending(name)
        self.bytes = bytes
    }

    /// Whether it is there, with all of its room.
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

    /// Takes up the room, unless that would leave less than as much again. The directory is made if it is missing.
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
                // Answers its error, and does not set errno.
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
