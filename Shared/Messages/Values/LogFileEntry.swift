/// A finished stream file in log-manager's catalog.
public struct LogFileEntry: Codable, Hashable, Sendable {
    /// The log that the file is a part of.
    public var name: String
    /// The session that the file belongs to.
    public var session: String
    /// The file's path under the data directory.
    public var path: String
    /// The file's size in bytes.
    public var bytes: Int
    /// When the file was finished; strictly increasing among the files of a log.
    public var finished: WallTime
    /// Whether its upload was confirmed.
    public var uploaded: Bool
    /// The receiver's receipt, if the file was marked with one.
    public var receipt: JSONValue?
    /// SHA-256 of the file, in hexadecimal; nil if not known yet.
    public var sha256: String?

    /// Creates an entry.
    public init(
        name: String, session: String, path: String, bytes: Int, finished: WallTime, uploaded: Bool,
        receipt: JSONValue? = nil, sha256: String?
    ) {
        self.name = name
        self.session = session
        self.path = path
        self.bytes = bytes
        self.finished = finished
        self.uploaded = uploaded
        self.receipt = receipt
        self.sha256 = sha256
    }
}
