/// What is on disk of a session and of its archive, as far as it decides what is next.
struct SessionView: Hashable, Sendable {
    /// Whether the session's directory is there.
    var exists = false
    /// Whether nothing more will be written to it: its files can be archived.
    var isOver = false
    /// What was made of it; `nil` before, and once there is a receipt.
    var record: ArchiveRecord?
    /// What the receiver confirmed.
    var receipt: ArchiveReceipt?
    /// Whether its archives are there: all that are in `record`, or any of those in `receipt`.
    var archiveExists = false

    /// Its archives.
    var archives: [ArchiveRecord.Archive] { receipt.map { $0.archives.map(\.archive) } ?? record?.archives ?? [] }
}
