package import Archives
package import Messages
package import Recording
package import Upload

/// The receiver's confirmation for a session: `archives/<session>.receipt.json`. Written when all archives are confirmed, and
/// replaced after log-manager has marked the files and after their removal.
package struct ArchiveReceipt: ArchiveNote, Codable, Hashable, Sendable {
    /// The value of `schema`.
    package static let schema = "receipt.v1"

    package private(set) var schema = ArchiveReceipt.schema
    package var session: SessionIdentifier
    package var startDate: WallTime?
    /// When the last archive was confirmed.
    package var date: WallTime
    /// When making the archives began; later additions to the session are not in them. Missing in older receipts.
    package var made: WallTime?
    /// The highest number of an annotation in the archives, 0 if there is none. Missing in older receipts.
    package var lastAnnotation: Int?
    /// The archives that the receiver has.
    package var archives: [Confirmed]
    /// The finished stream files in these archives.
    package var files: [ArchiveRecord.File]
    /// Files of the session that could not be archived; only this machine has them. Nil if there are none.
    package var leftOut: [ArchiveMetadata.LeftOut]?
    /// When log-manager marked the files; `nil` before.
    package var marked: WallTime?
    /// Files that log-manager did not mark, with the reasons. They are kept.
    package var unmarked: [LogFileOutcome.Refusal]?
    /// When the marked files were removed; `nil` before.
    package var removed: WallTime?

    package struct Confirmed: Codable, Hashable, Sendable {
        package var archive: ArchiveRecord.Archive
        /// The receiver's confirmation of the archive.
        package var confirmation: UploadConfirmation

        package init(archive: ArchiveRecord.Archive, confirmation: UploadConfirmation) {
            self.archive = archive
            self.confirmation = confirmation
        }
    }

    /// Creates a receipt after all archives of a session are confirmed.
    package init(_ record: ArchiveRecord, _ archives: [Confirmed]) {
        session = record.session
        startDate = record.startDate
        date = archives.map(\.confirmation.date).max() ?? record.date
        made = record.date
        lastAnnotation = record.lastAnnotation
        self.archives = archives
        files = record.files
        leftOut = record.leftOut
    }

    package var isSound: Bool {
        schema == Self.schema
            && archives.allSatisfy { confirmed in
                ArchiveDirectory.session(ofArchive: confirmed.archive.name) == session.text
                    && confirmed.confirmation.bytes == confirmed.archive.bytes
                    && confirmed.confirmation.sha256 == confirmed.archive.sha256
            }
    }

    /// The receipt without the list of files, for replies.
    package var summary: JSONValue {
        var copy = self
        copy.files = []
        guard let bytes = try? WireCoding.encode(copy),
            case .object(var fields) = try? WireCoding.decode(JSONValue.self, from: bytes)
        else { return .null }
        fields["files"] = .integer(files.count)
        return .object(fields)
    }

    /// A receipt that requests marking once more: log-manager may have refused a mark, or lost its catalog. `nil` if
    /// all files are removed. Files that were kept because they were not marked are removed afterwards.
    package var askingAgain: ArchiveReceipt? {
        if unmarked == nil, removed != nil { return nil }
        var copy = self
        copy.marked = nil
        copy.unmarked = nil
        copy.removed = nil
        return copy
    }

    /// The mark for a stream file: the archive that contains it, as confirmed by the receiver.
    package func mark(for archive: Confirmed) -> JSONValue {
        var fields: [String: JSONValue] = [
            "archive": .string(archive.archive.name), "location": .string(archive.confirmation.location),
            "bytes": .integer(archive.archive.bytes), "sha256": .string(archive.archive.sha256),
            "confirmed": .string(archive.confirmation.date.utcText),
        ]
        fields["made"] = made.map { .string($0.utcText) }
        fields["leftOut"] = leftOut.map { .integer($0.count) }
        fields["lastAnnotation"] = lastAnnotation.map { .integer($0) }
        return .object(fields)
    }
}
