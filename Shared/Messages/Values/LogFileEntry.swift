/// A finished log file, as log-manager knows it.
public struct LogFileEntry: Codable, Hashable, Sendable {
    /// The log that it is a part of.
    public var name: String
    /// The session that it belongs to.
    public var session: String
    /// Its path under the data directory.
    public var path: String
    /// Its size.
    public var bytes: Int
    /// When it was finished; of the files of a log, each is later than the one before it.
    public var finished: WallTime
    /// Whether its upload was confirmed.
    public var uploaded: Bool
    /// What the receiver said, where it was marked with that.
    public var receipt: JSONValue?
    /// SHA-256 of its bytes, in hexadecimal; nil if it is not known yet.
    public var sha256: String?

    /// A file.
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
