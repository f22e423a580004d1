package import Messages
package import Recording
package import Upload

/// What the receiver confirmed of a session: `archives/<session>.receipt.json`. Written once, when it has confirmed all
/// archives; replaced when log-manager has marked the files, and when they were removed.
package struct ArchiveReceipt: ArchiveNote, Codable, Hashable, Sendable {
    /// The literal in `schema`.
    package static let schema = "receipt.v1"

    package private(set) var schema = ArchiveReceipt.schema
    package var session: SessionIdentifier
    package var startDate: WallTime?
    /// When the last archive was confirmed.
    package var date: WallTime
    /// When making them began; what was added to the session later is not in them. Older receipts don't have it.
    package var made: WallTime?
    /// The archives that the receiver has.
    package var archives: [Confirmed]
    /// The finished log files that are in them.
    package var files: [ArchiveRecord.File]
    /// When log-manager marked the files; `nil` before.
    package var marked: WallTime?
    /// Files that log-manager did not mark, and why: they are kept.
    package var unmarked: [LogFileOutcome.Refusal]?
    /// When the files were removed that were marked; `nil` before.
    package var removed: WallTime?

    /// An archive that the receiver has.
    package struct Confirmed: Codable, Hashable, Sendable {
        package var archive: ArchiveRecord.Archive
        /// What the receiver said.
        package var confirmation: UploadConfirmation

        package init(archive: ArchiveRecord.Archive, confirmation: UploadConfirmation) {
            self.archive = archive
            self.confirmation = confirmation
        }
    }

    /// All archives of a session are confirmed.
    package init(_ record: ArchiveRecord, _ archives: [Confirmed]) {
        session = record.session
        startDate = record.startDate
        date = archives.map(\.confirmation.date).max() ?? record.date
        made = record.date
        self.archives = archives
        files = record.files
    }

    /// Whether it is one that we understand, and fits to itself.
    package var isSound: Bool {
        schema == Self.schema
            && archives.allSatisfy { confirmed in
                ArchiveDirectory.session(ofArchive: confirmed.archive.name) == session.text
                    && confirmed.confirmation.bytes == confirmed.archive.bytes
                    && confirmed.confirmation.sha256 == confirmed.archive.sha256
            }
    }

    /// What is told of it: all but the list of files.
    package var summary: JSONValue {
        var copy = self
        copy.files = []
        guard let bytes = try? WireCoding.encode(copy),
            case .object(var fields) = try? WireCoding.decode(JSONValue.self, from: bytes)
        else { return .null }
        fields["files"] = .integer(files.count)
        return .object(fields)
    }

    /// The receipt with which log-manager is asked once more for what it did not mark; `nil` if it marked everything. Files that
    /// were kept because they were not marked are removed after that.
    package var askingAgain: ArchiveReceipt? {
        if unmarked == nil { return nil }
        var copy = self
        copy.marked = nil
        copy.unmarked = nil
        copy.removed = nil
        return copy
    }

    /// What a log file is marked with: the archive that has it, as the receiver confirmed it.
    package func mark(for archive: Confirmed) -> JSONValue {
        var fields: [String: JSONValue] = [
            "archive": .string(archive.archive.name), "location": .string(archive.confirmation.location),
            "bytes": .integer(archive.archive.bytes), "sha256": .string(archive.archive.sha256),
            "confirmed": .string(archive.confirmation.date.utcText),
        ]
        fields["made"] = made.map { .string($0.utcText) }
        return .object(fields)
    }
}
