import Messages
import Recording

/// A file with the name of a finished one, as it is on the disk.
struct ScannedFile: Hashable, Sendable {
    var session: SessionIdentifier
    var name: FinishedName
    var identity: FileIdentity
    /// When it was finished, by its own name and time alone.
    var finished: WallTime
    /// SHA-256 of its bytes in hexadecimal, where the recorder said it of a file of this size.
    var sha256: String?
    /// Whether it is known to be finished. Otherwise the recorder may still be at it: it is not catalogued yet.
    var isFinished: Bool

    var log: LogName { name.log }

    /// Where it is under the data directory.
    var place: LogFilePath { LogFilePath(session: session, name: name) }

    /// That as text.
    var path: String { place.description }
}
