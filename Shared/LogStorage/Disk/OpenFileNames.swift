import Messages
import SystemPackage

/// The names of the files that a session is writing to; valid as long as its directory does not change.
struct OpenFileNames: Sendable {
    let names: [String]
    /// When the directory last changed, in nanoseconds since 1970; `nil` if a further change might go unnoticed.
    private let changed: Int64?

    /// File times are coarse: a change within this time of the listing, in nanoseconds, might not show in the directory's time.
    private static let tick: Int64 = 100_000_000

    /// Lists the names, unless the known ones are still valid.
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
