import Messages
import Recording

/// A finished log file, as the catalog has it.
struct CatalogFile: Hashable, Sendable {
    /// Its number in the catalog. Never given twice.
    let id: Int64
    let session: SessionIdentifier
    let name: FinishedName
    var identity: FileIdentity
    /// When it was finished; later than the files of its log and session before it.
    var finished: WallTime
    /// SHA-256 of its bytes in hexadecimal, where it is known.
    var sha256: String?
    /// When it was marked as uploaded.
    var uploaded: WallTime?
    /// What the receiver said.
    var receipt: JSONValue?

    var log: LogName { name.log }
    var bytes: Int { identity.bytes }

    /// Where it is under the data directory.
    var place: LogFilePath { LogFilePath(session: session, name: name) }

    /// That as text.
    var path: String { place.description }

    /// As replies have it.
    var entry: LogFileEntry {
        LogFileEntry(
            name: log.text, session: session.text, path: path, bytes: bytes, finished: finished,
            uploaded: uploaded != nil, receipt: receipt, sha256: sha256)
    }
}
