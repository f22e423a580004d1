package import Archives
import Files
package import Messages
package import Recording

/// What was made of a session: `archives/<session>.archive.json`, from when its archives are whole until there is a
/// receipt. Nothing is uploaded before it is on disk, and no archive is made anew while it is there with its archives.
package struct ArchiveRecord: ArchiveNote, Codable, Hashable, Sendable {
    /// The literal in `schema`.
    package static let schema = "archive-record.v1"

    package private(set) var schema = ArchiveRecord.schema
    package var session: SessionIdentifier
    package var startDate: WallTime?
    /// When making them began.
    package var date: WallTime
    /// The session's own, then those of its sections.
    package var archives: [Archive]
    /// The finished log files that are in them.
    package var files: [File]

    /// An archive.
    package struct Archive: Codable, Hashable, Sendable {
        /// The name of its file.
        package var name: String
        package var bytes: Int
        /// In lower-case hexadecimal digits.
        package var sha256: String
        /// Whether only its recipients can open it.
        package var isEncrypted: Bool

        package init(name: String, bytes: Int, sha256: String, isEncrypted: Bool) {
            self.name = name
            self.bytes = bytes
            self.sha256 = sha256
            self.isEncrypted = isEncrypted
        }
    }

    /// A log file in an archive.
    package struct File: Codable, Hashable, Sendable {
        /// Its name in the session's directory.
        package var name: String
        package var bytes: Int
        /// In lower-case hexadecimal digits.
        package var sha256: String
        /// The archive that has it.
        package var archive: String

        package init(name: String, bytes: Int, sha256: String, archive: String) {
            self.name = name
            self.bytes = bytes
            self.sha256 = sha256
            self.archive = archive
        }
    }

    /// What was made.
    /// - Parameters:
    ///   - logs: the session's.
    ///   - date: when that began.
    package init(_ session: SessionIdentifier, made: [MadeArchive], logs: [LogName], date: WallTime) {
        self.session = session
        startDate = made.first?.metadata.startDate
        self.date = date
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
    }

    /// Whether it says what can be uploaded.
    package var isSound: Bool {
        schema == Self.schema && !archives.isEmpty
            && archives.allSatisfy { archive in
                ArchiveDirectory.session(ofArchive: archive.name) == session.text && archive.bytes >= 0
                    && archive.sha256.hexBytes?.count == 32
            }
    }
}
