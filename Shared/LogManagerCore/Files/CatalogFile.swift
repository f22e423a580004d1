package import Messages
package import Recording

/// A finished log file, as the catalog has it.
package struct CatalogFile: Hashable, Sendable {
    /// Its number in the catalog. Never given twice.
    package let id: Int64
    package let session: SessionIdentifier
    package let name: FinishedName
    package var identity: FileIdentity
    /// When it was finished; later than the files of its log and session before it.
    package var finished: WallTime
    /// SHA-256 of its bytes in hexadecimal, if it is known.
    package var sha256: String?
    /// When it was marked as uploaded.
    package var uploaded: WallTime?
    /// The receipt of the upload.
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

    /// Where it is under the data directory.
    package var place: LogFilePath { LogFilePath(session: session, name: name) }

    /// That as text.
    package var path: String { place.description }

    /// As replies have it.
    package var entry: LogFileEntry {
        LogFileEntry(
            name: log.text, session: session.text, path: path, bytes: bytes, finished: finished,
            uploaded: uploaded != nil, receipt: receipt, sha256: sha256)
    }
}
