/// Why a file was removed: a word used in events, in the program's log and in the session's list of removed files.
package enum RemovalReason: String, CaseIterable, Codable, Sendable {
    /// A request, after the file's upload.
    case removeUploaded
    /// A request to free space.
    case removeOldAndUploaded
    case logRemoved = "logs.remove"
    /// The policy that the user set.
    case whenFull
}
