package import Messages
package import Recording

/// A file on the disk with the name of a finished one.
package struct ScannedFile: Hashable, Sendable {
    package var session: SessionIdentifier
    package var name: FinishedName
    package var identity: FileIdentity
    /// When the file was finished, according to its name and modification time alone.
    package var finished: WallTime
    /// SHA-256 of the file in hexadecimal, if the recorder reported it for a file of this size.
    package var sha256: String?
    /// Whether the file is known to be finished. If not, the recorder may still write to it, and it is not catalogued yet.
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

    /// Relative to the data directory.
    package var place: LogFilePath { LogFilePath(session: session, name: name) }

    package var path: String { place.description }
}
