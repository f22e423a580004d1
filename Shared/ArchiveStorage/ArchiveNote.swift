package import Messages
package import Recording

/// What an archiver notes of a session's archives beside them.
package protocol ArchiveNote: Decodable {
    var session: SessionIdentifier { get }
    /// When the session started: another one may get its name once it is removed. Older archivers did not note it.
    var startDate: WallTime? { get }
    /// When it was noted.
    var date: WallTime { get }
    /// Whether it is one that we understand, and fits to itself.
    var isSound: Bool { get }
}
