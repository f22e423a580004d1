import FoundationEssentials
import Glibc
package import SystemPackage

/// A directory whose entries are created, replaced and synced so that they survive a power cut.
package struct Directory: Hashable, Sendable {
    package let path: FilePath

    package init(_ path: FilePath) {
        // A file name without a directory is relative to the working directory.
        self.path = path.isEmpty ? "." : path
    }

    /// Creates the directory and its parents if they do not exist.
    package func create() throws(RecordingError) {
        let parent = path.removingLastComponent()
        if mkdir(path.string, 0o777) == 0 {
            try Directory(parent).sync()
            return
        }
        switch Errno.last {
        case .fileExists where exists: return
        case .noSuchFileOrDirectory where !parent.isEmpty && parent != path:
            try Directory(parent).create()
            try create()
        case let errno: throw RecordingError(errno, action: "create directory", path: path)
        }
    }

    /// Creates the directory; an error if it exists.
    package func createExclusively() throws(RecordingError) {
        try SystemCall.perform("create directory", path) { mkdir(path.string, 0o777) }
        try Directory(path.removingLastComponent()).sync()
    }

    /// Waits until the directory's entries would survive a power cut.
    package func sync(calls: FileCalls = .system) throws(RecordingError) {
        try OpenFile(path, .readOnly, options: .directory, action: "open directory", calls: calls).syncAll()
    }

    /// The names in the directory, unordered; none if it does not exist.
    package func names() throws(RecordingError) -> [String] {
        guard exists else { return [] }
        do {
            return try FileManager.default.contentsOfDirectory(atPath: path.string)
        } catch {
            throw RecordingError(
                .inputOutput, action: "list directory", path: path, reason: "\(error)",
                advice: "Make it readable for this user.")
        }
    }

    package var exists: Bool {
        (try? path.stat().type) == .directory
    }

    package func contains(_ name: String) -> Bool {
        (try? path.appending(name).stat(followTargetSymlink: false)) != nil
    }

    package func read(_ name: String) throws(RecordingError) -> [UInt8] {
        try OpenFile(path.appending(name), .readOnly, action: "read").bytes(in: 0..<Int.max)
    }

    /// Creates or replaces a file atomically: at any moment, even after a power cut, either the old or the new file exists,
    /// complete.
    package func replace(_ name: String, with bytes: [UInt8], calls: FileCalls = .system) throws(RecordingError) {
        try replace(name, with: CollectionOfOne(bytes), calls: calls)
    }

    package func replace(
        _ name: String, with pieces: some Sequence<[UInt8]>, calls: FileCalls = .system
    ) throws(RecordingError) {
        var pieces = pieces.makeIterator()
        try replace(name, calls: calls) { () throws(RecordingError) -> [UInt8]? in pieces.next() }
    }

    /// Replaces a file by a new file with the same bytes, of which few are in memory at a time. If the disk has no room for the
    /// copy, the file stays as it is.
    package func replaceByCopy(_ name: String, calls: FileCalls = .system) throws(RecordingError) {
        let file = try OpenFile(path.appending(name), .readOnly, action: "read")
        let (needed, free) = (Int(try file.byteCount()), try freeBytes())
        // Otherwise, other files could not be written to until the copy fails.
        guard needed < free else {
            throw RecordingError(
                .noSpace, action: "copy", path: file.path,
                reason: "the copy needs \(needed) bytes, and \(free) bytes are free",
                advice: "Everything recorded so far is intact. Free some space.")
        }
        let size = 1 << 20
        var offset = 0
        try replace(name, calls: calls) { () throws(RecordingError) -> [UInt8]? in
            let piece = try file.bytes(in: offset..<(offset + size))
            offset += piece.count
            return piece.isEmpty ? nil : piece
        }
    }

    /// - Parameter next: returns the next piece; nil at the end.
    private func replace(
        _ name: String, calls: FileCalls, with next: () throws(RecordingError) -> [UInt8]?
    ) throws(RecordingError) {
        let temporary = Self.temporaryName(for: name)
        if contains(temporary) {
            // Left behind by a program that was killed here.
            try Directory.removeFile(path.appending(temporary))
        }
        do {
            let file = try OpenFile(creating: path.appending(temporary), [], calls: calls)
            var length = 0
            while let piece = try next() {
                try file.write(piece, at: Int64(length))
                length += piece.count
            }
            try file.syncAll()
            try rename(temporary, to: name, calls: calls)
            try sync(calls: calls)
        } catch {
            try? Directory.removeFile(path.appending(temporary))
            throw error
        }
    }

    /// The name under which a file's bytes are written before the file gets its final name.
    package static func temporaryName(for name: String) -> String { ".\(name).new" }

    /// Whether a name begins with a dot. As a character, the dot would be one with a combining mark after it.
    package static func isHidden(_ name: String) -> Bool { name.utf8.first == UInt8(ascii: ".") }

    /// The final name of a file that is still under `temporaryName(for:)`; nil for any other file.
    package static func finalName(ofTemporary name: String) -> String? {
        let bytes = name.utf8
        guard isHidden(name), bytes.suffix(4).elementsEqual(".new".utf8) else { return nil }
        return String(decoding: bytes.dropFirst().dropLast(4), as: UTF8.self)
    }

    /// Renames a file, and replaces an existing one. The entries are not synced.
    package func rename(_ name: String, to newName: String, calls: FileCalls) throws(RecordingError) {
        let old = path.appending(name)
        try SystemCall.attempt("rename", old) { () throws(Errno) in try calls.rename(old, path.appending(newName)) }
    }

    /// Gives a file a second name, in another directory of the same file system. The entries are not synced.
    package func link(
        _ name: String, to newName: String, in other: Directory, calls: FileCalls
    ) throws(RecordingError) {
        let file = path.appending(name)
        try SystemCall.attempt("link", file) { () throws(Errno) in
            try calls.link(file, other.path.appending(newName))
        }
    }

    /// Swaps the names of two entries: at any moment, even after a power cut, both names lead to one of the two contents. The
    /// entries are not synced.
    package func exchange(_ name: String, with other: String, calls: FileCalls) throws(RecordingError) {
        let (one, two) = (path.appending(name), path.appending(other))
        try SystemCall.attempt("replace", one) { () throws(Errno) in try calls.exchange(one, two) }
    }

    /// Bytes on the directory's disk that are available to unprivileged processes.
    package func freeBytes() throws(RecordingError) -> Int {
        var status = statvfs()
        try SystemCall.perform("look at the disk of", path) { statvfs(path.string, &status) }
        let (bytes, overflow) = UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize))
        return overflow ? .max : Int(clamping: bytes)
    }

    /// Removes an empty directory.
    /// - Returns: whether the directory is gone; false if it has entries.
    package static func removeEmpty(_ path: FilePath) throws(RecordingError) -> Bool {
        if rmdir(path.string) == 0 { return true }
        switch Errno.last {
        case .noSuchFileOrDirectory: return true
        case .directoryNotEmpty, .fileExists: return false
        case let errno: throw RecordingError(errno, action: "remove directory", path: path)
        }
    }

    package static func removeFile(_ path: FilePath) throws(RecordingError) {
        try SystemCall.perform("remove", path) { unlink(path.string) }
    }

    /// Removes a file, or a directory with its contents. A symbolic link is removed, but not its target.
    package static func removeTree(
        _ path: FilePath, advice: String = "Remove it yourself."
    ) throws(RecordingError) {
        do {
            try FileManager.default.removeItem(atPath: path.string)
        } catch {
            throw RecordingError(.inputOutput, action: "remove", path: path, reason: "\(error)", advice: advice)
        }
    }
}
