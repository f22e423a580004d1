package import Files
package import Messages
import SystemPackage

/// A finished log file that log-manager removed: a line of `removed.ndjson` in the session's directory, written before
/// the file goes. Who misses the file finds out here what became of it.
package struct RemovedFile: Codable, Hashable, Sendable {
    /// The name of the file in which a session's directory has these.
    package static let fileName = "removed.ndjson"

    package var name: String
    package var bytes: Int
    /// SHA-256 of the bytes that it had, in lower-case hexadecimal digits; `nil` if nobody had said it.
    package var sha256: String?
    /// Why it was removed, as `log.v1` says it.
    package var reason: String
    package var date: WallTime
    /// When its upload was confirmed; `nil` if it was not.
    package var uploaded: WallTime?
    package var receipt: JSONValue?

    package init(
        name: String, bytes: Int, sha256: String? = nil, reason: String, date: WallTime, uploaded: WallTime? = nil,
        receipt: JSONValue? = nil
    ) {
        self.name = name
        self.bytes = bytes
        self.sha256 = sha256
        self.reason = reason
        self.date = date
        self.uploaded = uploaded
        self.receipt = receipt
    }

    /// Whether it is the file that a session lists.
    func isSame(as finished: FinishedFile) -> Bool {
        name == finished.name && bytes == finished.bytes && (sha256 ?? finished.sha256) == finished.sha256
    }

    /// What became of it: `removed after upload at … (removeUploaded)`.
    var sentence: String {
        "removed \(uploaded == nil ? "by policy" : "after upload") at \(date.utcText) (\(reason))"
    }

    /// How many of each kind: `3 files removed after upload, 2 by policy`; `nil` if there are none.
    static func summary(_ files: [RemovedFile]) -> String? {
        let uploaded = files.count { $0.uploaded != nil }
        let kinds = [(uploaded, "after upload"), (files.count - uploaded, "by policy")].filter { $0.0 > 0 }
        guard let first = kinds.first else { return nil }
        let texts = ["\(first.0) file\(first.0 == 1 ? "" : "s") removed \(first.1)"]
        return (texts + kinds.dropFirst().map { "\($0.0) \($0.1)" }).joined(separator: ", ")
    }

    /// The files that were removed from a session's directory, in the order of their removal; none if nothing says
    /// so. A file may be there twice, or be there still: what was to be removed is written first. Lines that can't be
    /// read say nothing, and neither does a torn one at the end.
    package static func read(in directory: Directory) throws(RecordingError) -> [RemovedFile] {
        guard directory.contains(fileName) else { return [] }
        let bytes = try directory.read(fileName)
        let whole = bytes[..<(bytes.lastIndex(of: UInt8(ascii: "\n")) ?? 0)]
        return whole.split(separator: UInt8(ascii: "\n")).compactMap { line in
            try? WireCoding.decode(RemovedFile.self, from: line)
        }
    }

    /// Adds files that are about to be removed: when this returns, what it says would survive a power cut. One writer at
    /// a time. A line that was torn by an earlier power cut is cut off.
    ///
    /// - Throws: `noSpace`, `notPermitted` or `inputOutput`, with the file as it was.
    package static func append(_ files: [RemovedFile], in directory: Directory) throws(RecordingError) {
        if files.isEmpty { return }
        let path = directory.path.appending(fileName)
        let isNew = !directory.contains(fileName)
        let file = try OpenFile(
            path, .readWrite, options: isNew ? [.create, .exclusiveCreate] : .noFollow,
            permissions: isNew ? .byFileMode : nil, action: "open")
        let length = try wholeLength(of: file)
        if try file.byteCount() > length { try file.resize(to: Int64(length)) }
        let lines = files.flatMap { StoredJSON.line($0) + [UInt8(ascii: "\n")] }
        do throws(RecordingError) {
            try file.write(lines, at: Int64(length))
            try file.sync()
        } catch {
            try? file.resize(to: Int64(length))
            throw error
        }
    }

    /// Where the last whole line of a file ends.
    private static func wholeLength(of file: OpenFile) throws(RecordingError) -> Int {
        let pieceSize = 4 << 10
        var end = Int(try file.byteCount())
        while end > 0 {
            let start = max(0, end - pieceSize)
            let piece = try file.bytes(in: start..<end)
            if let index = piece.lastIndex(of: UInt8(ascii: "\n")) { return start + index + 1 }
            end = start
        }
        return 0
    }
}
