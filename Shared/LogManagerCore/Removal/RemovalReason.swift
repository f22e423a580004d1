/// Why a file was removed: a word in events, in the log and in the session's list of removed files.
package enum RemovalReason: String, CaseIterable, Codable, Sendable {
    /// Somebody asked for it, after its upload.
    case removeUploaded
    /// Somebody asked for room.
    case removeOldAndUploaded
    /// Its log was removed.
    case logRemoved = "logs.remove"
    /// The policy that the user set.
    case whenFull
}
