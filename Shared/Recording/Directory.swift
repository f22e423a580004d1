import FoundationEssentials
import Glibc
package import SystemPackage

/// A directory whose entries are made, replaced and synced so that they survive a power cut.
package struct Directory: Hashable, Sendable {
    package let path: FilePath

    package init(_ path: FilePath) {
        // A file named without a directory is in the one where the program runs.
        self.path = path.isEmpty ? "." : path
    }

    /// Makes the directory if it is not there, and the ones above it.
    package func create() throws(RecordingError) {
        let parent = path.removingLastComponent()
        if mkdir(path.string, 0o755) == 0 {
            try Directory(parent).sync()
            return
        }
        switch Errno.last {
        case .fileExists where isThere: return
        case .noSuchFileOrDirectory where !parent.isEmpty && parent != path:
            try Directory(parent).create()
            try create()
        case let errno: throw RecordingError(errno, action: "create directory", path: path)
        }
    }

    /// Makes the directory; an error if it is there.
    package func createExclusively() throws(RecordingError) {
        try SystemCall.perform("create directory", path) { mkdir(path.string, 0o755) }
        try Directory(path.removingLastComponent()).sync()
    }

    /// Waits until the directory's entries would survive a power cut.
    package func sync() throws(RecordingError) {
        try OpenFile(path, .readOnly, options: .directory, action: "open directory").syncAll()
    }

    /// The names in the directory, in no order; none if it is not there.
    package func names() throws(RecordingError) -> [String] {
        guard isThere else { return [] }
        do {
            return try FileManager.default.contentsOfDirectory(atPath: path.string)
        } catch {
            throw RecordingError(
                .inputOutput, action: "list directory", path: path, reason: "\(error)",
                advice: "Make it readable for this user.")
        }
    }

    /// Whether there is a directory of this path.
    package var isThere: Bool {
        (try? path.stat().type) == .directory
    }

    /// Whether there is anything of this name.
    func contains(_ name: String) -> Bool {
        (try? path.appending(name).stat(followTargetSymlink: false)) != nil
    }

    /// The bytes of a file.
    func read(_ name: String) throws(RecordingError) -> [UInt8] {
        var bytes: [UInt8] = []
        try OpenFile(path.appending(name), .readOnly, action: "read").forEachPiece { bytes += $0 }
        return bytes
    }

    /// Puts a file in the place of the one of this name, if there is one: at every moment, also after a power cut,
    /// either the old or the new one is there, whole.
    func replace(_ name: String, with bytes: [UInt8], calls: FileCalls = .system) throws(RecordingError) {
        let temporary = ".\(name).new"
        if contains(temporary) {
            // Left by a program that was killed here.
            try Directory.removeFile(path.appending(temporary))
        }
        do {
            let file = try GrowingFile(
                creating: path.appending(temporary), opening: bytes, terminator: [], calls: calls)
            try file.handle.syncAll()
            try rename(temporary, to: name)
        } catch {
            try? Directory.removeFile(path.appending(temporary))
            throw error
        }
    }

    /// Gives a file another name, for good: the directory is synced.
    func rename(_ name: String, to newName: String) throws(RecordingError) {
        let old = path.appending(name)
        let new = path.appending(newName)
        try SystemCall.perform("rename", old) { Glibc.rename(old.string, new.string) }
        try sync()
    }

    /// Removes a file.
    static func removeFile(_ path: FilePath) throws(RecordingError) {
        try SystemCall.perform("remove", path) { unlink(path.string) }
    }
}
