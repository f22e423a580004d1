package import Messages
package import Recording

/// A file with the name of a finished one, as it is on the disk.
package struct ScannedFile: Hashable, Sendable {
    package var session: SessionIdentifier
    package var name: FinishedName
    package var identity: FileIdentity
    /// When it was finished, by its own name and time alone.
    package var finished: WallTime
    /// SHA-256 of its bytes in hexadecimal, if the recorder gave it for a file of this size.
    package var sha256: String?
    /// Whether it is known to be finished. Otherwise the recorder may still be at it: it is not catalogued yet.
    package var isFinished: Bool

    package init(
        session: SessionIdentifier, name: FinishedName, identity: FileIdentity, finished: WallTime, sha256: String?,
        isFinished: Bool
    ) {
        self.session = session
        self.name = name
        self.identity = identity
        self.finished = finished
        self.sha256 = sha256
        self.isFinished = isFinished
    }

    package var log: LogName { name.log }

    /// Where it is under the data directory.
    package var place: LogFilePath { LogFilePath(session: session, name: name) }

    /// That as text.
    package var path: String { place.description }
}
