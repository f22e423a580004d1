package import Archives
import Files
package import Messages
package import Recording

/// The archives made from a session: `archives/<session>.archive.json`, from their completion until there is a receipt. Nothing
/// is uploaded before the record is on disk, and no archive is made again while the record and its archives exist.
package struct ArchiveRecord: ArchiveNote, Codable, Hashable, Sendable {
    /// The value of `schema`.
    package static let schema = "archive-record.v1"

    package private(set) var schema = ArchiveRecord.schema
    package var session: SessionIdentifier
    package var startDate: WallTime?
    /// When making the archives began.
    package var date: WallTime
    /// The highest number of an annotation in the archives, 0 if there is none. Missing in older records.
    package var lastAnnotation: Int?
    /// The session's archive, then those of its sections.
    package var archives: [Archive]
    /// The finished stream files in these archives.
    package var files: [File]
    /// Files of the session that could not be archived; nil if there are none.
    package var leftOut: [ArchiveMetadata.LeftOut]?

    package struct Archive: Codable, Hashable, Sendable {
        package var name: String
        package var bytes: Int
        /// The SHA-256 in lower-case hexadecimal digits.
        package var sha256: String
        /// Whether opening it requires the private key of a recipient.
        package var isEncrypted: Bool

        package init(name: String, bytes: Int, sha256: String, isEncrypted: Bool) {
            self.name = name
            self.bytes = bytes
            self.sha256 = sha256
            self.isEncrypted = isEncrypted
        }
    }

    /// A stream file in an archive.
    package struct File: Codable, Hashable, Sendable {
        /// The file's name in the session's directory.
        package var name: String
        package var bytes: Int
        /// The SHA-256 in lower-case hexadecimal digits.
        package var sha256: String
        /// The name of the archive that contains the file.
        package var archive: String

        package init(name: String, bytes: Int, sha256: String, archive: String) {
            self.name = name
            self.bytes = bytes
            self.sha256 = sha256
            self.archive = archive
        }
    }

    /// - Parameters:
    ///   - logs: the session's logs.
    ///   - date: when making the archives began.
    package init(_ session: SessionIdentifier, made: [MadeArchive], logs: [LogName], date: WallTime) {
        self.session = session
        startDate = made.first?.metadata.startDate
        self.date = date
        lastAnnotation = made.map(\.lastAnnotation).max()
        archives = made.map {
            Archive(name: $0.name, bytes: $0.bytes, sha256: $0.sha256, isEncrypted: $0.isEncrypted)
        }
        files = made.flatMap { archive in
            archive.metadata.files.compactMap { file in
                let name = file.originalName ?? file.filename
                guard logs.contains(where: { FinishedName(name, of: $0) != nil }) else { return nil }
                return File(name: name, bytes: file.bytes, sha256: file.sha256, archive: archive.name)
            }
        }
        let unarchived = made.flatMap(\.metadata.unarchived)
        leftOut = unarchived.isEmpty ? nil : unarchived
    }

    /// Whether the record describes archives that can be uploaded.
    package var isSound: Bool {
        schema == Self.schema && !archives.isEmpty
            && archives.allSatisfy { archive in
                ArchiveDirectory.session(ofArchive: archive.name) == session.text && archive.bytes >= 0
                    && archive.sha256.hexBytes?.count == 32
            }
    }
}
