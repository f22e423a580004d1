package import Archives
package import Messages
package import Recording

/// An archiver's note about the archives of a session.
package protocol ArchiveNote: Decodable {
    var session: SessionIdentifier { get }
    /// When the session started: after its removal, another session may get its name. Older archivers did not write it.
    var startDate: WallTime? { get }
    /// When the note was written.
    var date: WallTime { get }
    /// Files of the session that could not be archived; nil if there are none.
    var leftOut: [ArchiveMetadata.LeftOut]? { get }
    /// Whether the note has a supported schema and is consistent.
    var isSound: Bool { get }
}

extension ArchiveNote {
    /// Whether the archives were made before the recorder finished the session.
    var isOfUnfinishedSession: Bool { leftOut?.contains(.unfinished) ?? false }
}
