package import Messages
package import Recording

/// A finished stream file as recorded in the catalog.
package struct CatalogFile: Hashable, Sendable {
    /// The file's number in the catalog; never reused.
    package let id: Int64
    package let session: SessionIdentifier
    package let name: FinishedName
    package var identity: FileIdentity
    /// When the file was finished; later than all earlier files of its log and session.
    package var finished: WallTime
    /// SHA-256 of the file in hexadecimal; nil if unknown.
    package var sha256: String?
    /// When the file was marked as uploaded; nil if it is not.
    package var uploaded: WallTime?
    package var receipt: JSONValue?

    package init(
        id: Int64, session: SessionIdentifier, name: FinishedName, identity: FileIdentity, finished: WallTime,
        sha256: String?, uploaded: WallTime?, receipt: JSONValue?
    ) {
        self.id = id
        self.session = session
        self.name = name
        self.identity = identity
        self.finished = finished
        self.sha256 = sha256
        self.uploaded = uploaded
        self.receipt = receipt
    }

    package var log: LogName { name.log }
    package var bytes: Int { identity.bytes }

    /// Relative to the data directory.
    package var place: LogFilePath { LogFilePath(session: session, name: name) }

    package var path: String { place.description }

    /// The file as it appears in replies.
    package var entry: LogFileEntry {
        LogFileEntry(
            name: log.text, session: session.text, path: path, bytes: bytes, finished: finished,
            uploaded: uploaded != nil, receipt: receipt, sha256: sha256)
    }
}
