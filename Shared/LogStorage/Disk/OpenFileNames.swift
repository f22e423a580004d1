import Messages
import SystemPackage

/// The names of the files that a session is writing to, kept as long as nothing came or went in its directory.
struct OpenFileNames: Sendable {
    let names: [String]
    /// When the directory had changed last, in nanoseconds since 1970; `nil` if it may change again unseen.
    private let changed: Int64?

    /// A change in the same tick of the system's clock as the listing would not be seen: times are that coarse.
    private static let tick: Int64 = 100_000_000

    /// Lists the names, unless the known ones are still right.
    /// - Returns: `nil` if the directory can't be listed.
    init?(in folder: SessionListing, known: OpenFileNames?, now: WallTime) {
        guard let time = try? folder.entriesChanged() else { return nil }
        if let known, known.changed == time {
            self = known
            return
        }
        guard let names = try? folder.currentNames() else { return nil }
        self.names = names
        changed = now.nanosecondsSince1970 > time + Self.tick ? time : nil
    }
}
