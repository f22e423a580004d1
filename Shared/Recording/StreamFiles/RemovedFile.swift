package import Files
package import Messages
import SystemPackage

/// A finished stream file that was removed by log-manager or by the session's ring: a line of `removed.ndjson` in the session's
/// directory, written before the file is removed. It explains why the file is missing.
package struct RemovedFile: Codable, Hashable, Sendable {
    package static let fileName = "removed.ndjson"
    /// The reason for files that a session's ring removed.
    package static let ring = "keep"

    package var name: String
    package var bytes: Int
    /// SHA-256 of the file, in lower-case hexadecimal digits; `nil` if it was unknown.
    package var sha256: String?
    /// Why the file was removed, as in `log.v1`.
    package var reason: String
    package var date: WallTime
    /// When the file's upload was confirmed; `nil` if it was not.
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

    /// The receiver has what was added to the session before this time, according to the file's receipt; nil if the file was not
    /// uploaded. An archiver's receipt states when making the archive began, which may be long before its upload was confirmed.
    package var uploadedUntil: WallTime? {
        guard let uploaded else { return nil }
        guard case .object(let fields) = receipt, case .string(let text) = fields["made"],
            let made = try? WallTime(iso8601: text)
        else { return uploaded }
        return min(made, uploaded)
    }

    /// Whether the receiver lacks other files of the session, according to the file's receipt: they could not be archived.
    package var hasUnarchived: Bool { count("leftOut") ?? 0 > 0 }

    /// The highest number of an annotation that the receiver has, according to the file's receipt; nil if it does not state one.
    package var lastAnnotation: Int? { uploaded == nil ? nil : count("lastAnnotation") }

    /// A whole number of the receipt.
    private func count(_ name: String) -> Int? {
        guard case .object(let fields) = receipt, case .integer(let number) = fields[name] else { return nil }
        return number
    }

    /// Whether this is a file that a session lists.
    func isSame(as finished: FinishedFile) -> Bool {
        name == finished.name && bytes == finished.bytes && (sha256 ?? finished.sha256) == finished.sha256
    }

    /// How the file was removed: `removed after upload at … (removeUploaded)`.
    var sentence: String {
        "removed \(cause) at \(date.utcText) (\(reason))"
    }

    private var cause: String {
        uploaded != nil ? "after upload" : reason == Self.ring ? "by the ring" : "by policy"
    }

    /// The number of files of each kind: `3 files removed after upload, 2 by policy`; `nil` if there are none.
    static func summary(_ files: [RemovedFile]) -> String? {
        let kinds = ["after upload", "by the ring", "by policy"].map { cause in
            (files.count { $0.cause == cause }, cause)
        }
        .filter { $0.0 > 0 }
        guard let first = kinds.first else { return nil }
        let texts = ["\(first.0.counted("file")) removed \(first.1)"]
        return (texts + kinds.dropFirst().map { "\($0.0) \($0.1)" }).joined(separator: ", ")
    }

    /// The files that were removed from a session's directory, in the order of their removal. A file may be listed twice, or
    /// still exist, because its line is written first. Unreadable lines, and a torn one at the end, are ignored.
    package static func read(in directory: Directory) throws(RecordingError) -> [RemovedFile] {
        try LineFile(fileName, in: directory).lines().compactMap { try? WireCoding.decode(RemovedFile.self, from: $0) }
    }

    /// Adds files that are about to be removed. When this returns, their lines survive a power cut. If an earlier
    /// power cut tore the last line, that line is removed.
    ///
    /// - Throws: `noSpace`, `notPermitted` or `inputOutput`; the file is then as before.
    package static func append(_ files: [RemovedFile], in directory: Directory) throws(RecordingError) {
        try LineFile(fileName, in: directory).append(files.map { StoredJSON.line($0) })
    }
}
