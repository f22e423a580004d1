package import Files
package import Messages
import SystemPackage

/// A finished log file that log-manager removed, or the session's ring: a line of `removed.ndjson` in the session's directory, written before
/// the file goes. Who misses the file finds out here what became of it.
package struct RemovedFile: Codable, Hashable, Sendable {
    /// The name of the file in which a session's directory has these.
    package static let fileName = "removed.ndjson"
    /// The reason of files that a session's ring removed.
    package static let ring = "keep"

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

    /// The receiver has what was added to the session before this time, as far as the file's receipt says; nil if the file was not
    /// uploaded. An archiver says when it began to make the archive, which may be long before its upload was confirmed.
    package var uploadedUntil: WallTime? {
        guard let uploaded else { return nil }
        guard case .object(let fields) = receipt, case .string(let text) = fields["made"],
            let made = try? WallTime(iso8601: text)
        else { return uploaded }
        return min(made, uploaded)
    }

    /// Whether it is the file that a session lists.
    func isSame(as finished: FinishedFile) -> Bool {
        name == finished.name && bytes == finished.bytes && (sha256 ?? finished.sha256) == finished.sha256
    }

    /// What became of it: `removed after upload at … (removeUploaded)`.
    var sentence: String {
        "removed \(cause) at \(date.utcText) (\(reason))"
    }

    private var cause: String {
        uploaded != nil ? "after upload" : reason == Self.ring ? "by the ring" : "by policy"
    }

    /// How many of each kind: `3 files removed after upload, 2 by policy`; `nil` if there are none.
    static func summary(_ files: [RemovedFile]) -> String? {
        let kinds = ["after upload", "by the ring", "by policy"].map { cause in
            (files.count { $0.cause == cause }, cause)
        }
        .filter { $0.0 > 0 }
        guard let first = kinds.first else { return nil }
        let texts = ["\(first.0.counted("file")) removed \(first.1)"]
        return (texts + kinds.dropFirst().map { "\($0.0) \($0.1)" }).joined(separator: ", ")
    }

    /// The files that were removed from a session's directory, in the order of their removal; none if nothing says
    /// so. A file may be there twice, or be there still: what was to be removed is written first. Lines that can't be
    /// read say nothing, and neither does a torn one at the end.
    package static func read(in directory: Directory) throws(RecordingError) -> [RemovedFile] {
        try LineFile(fileName, in: directory).lines().compactMap { try? WireCoding.decode(RemovedFile.self, from: $0) }
    }

    /// Adds files that are about to be removed: when this returns, what it says would survive a power cut. A line that was torn by an earlier power cut is cut off.
    ///
    /// - Throws: `noSpace`, `notPermitted` or `inputOutput`, with the file as it was.
    package static func append(_ files: [RemovedFile], in directory: Directory) throws(RecordingError) {
        try LineFile(fileName, in: directory).append(files.map { StoredJSON.line($0) })
    }
}
