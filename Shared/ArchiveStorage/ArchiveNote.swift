package import Recording

/// What an archiver notes of a session's archives beside them.
package protocol ArchiveNote: Decodable {
    var session: SessionIdentifier { get }
    /// Whether it is one that we understand, and fits to itself.
    var isSound: Bool { get }
}
