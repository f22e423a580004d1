package import Messages

/// What is in an archive: its manifest, `metadata.json`, the last of its files.
///
/// The names of the fields are the ancestors', so that their programs read it; bytes, hashes, samples and gaps are ours.
/// Nothing in it depends on when, where or by whom the archive was made, but for the version of this program.
package struct ArchiveMetadata: Codable, Hashable, Sendable {
    /// The literal in `schema`.
    package static let schema = "metadata.v1"

    package private(set) var schema = ArchiveMetadata.schema
    /// The devices whose streams were recorded.
    package var deviceInfo: String
    /// Always "Unknown": a device here has a name, and no model.
    package private(set) var deviceTypeIdentifier = "Unknown"
    /// The name of the programs.
    package private(set) var appName = "Holdfast"
    /// The version of the program that made the archive: `version 0.4.0`.
    package var appVersion: String
    /// The same: the ancestors' programs read no manifest without it.
    package var rsdFrameworkVersion: String
    /// The task, or the section of which the archive is.
    package var taskIdentifier: String
    package var taskRunUUID: String
    package var startDate: WallTime
    package var endDate: WallTime
    package var schemaIdentifier: String?
    package var schemaRevision: Int?
    /// The session's name.
    package var session: String
    /// How the session ended: `finished`, `cancelled`, `failed`.
    package var status: String
    /// What else belongs to the session, as it was given at its start.
    package var keys: JSONValue?
    /// Every file of the archive but this one, in the archive's order.
    package var files: [File]
    /// Files of the session that are not in the archive; `nil` if all are.
    package var leftOut: [LeftOut]?

    /// Whether the archive lacks files that nobody removed on purpose.
    package var hasLoss: Bool { leftOut?.contains { $0.reason != "removed" } ?? false }

    /// A file of an archive.
    package struct File: Codable, Hashable, Sendable {
        /// Its name in the archive.
        package var filename: String
        /// When it was begun; of a file that was made for the archive, the session's end.
        package var timestamp: WallTime
        package var contentType: String
        /// What it is of: a log's name, a result's identifier.
        package var identifier: String?
        /// The step in which it was begun.
        package var stepPath: String?
        package var bytes: Int
        /// In lower-case hexadecimal digits.
        package var sha256: String
        /// Of a log's file: the samples in it.
        package var samples: Int?
        /// Of a log's file: the runs of samples that are missing in it.
        package var gaps: Int?
        /// Of a log's file: the fields of its samples, if these are records. Otherwise they are numbers.
        package var fields: [Field]?
        /// Of a log's file: whether its stream was measured, replayed or simulated; `nil` if no publisher said.
        package var origin: DataOrigin?
        /// Of a log's file: whether its samples were filled in after the session; `nil` if they were recorded.
        package var filled: Bool?
        /// The name that it has in the session's directory, where that is another one.
        package var originalName: String?
    }

    /// A field of a stream of records.
    package struct Field: Codable, Hashable, Sendable {
        /// Its name in the file.
        package var name: String
        /// What its values are: number, text, boolean, date, json.
        package var type: String
    }

    /// A file of the session that is not in the archive.
    package struct LeftOut: Codable, Hashable, Sendable {
        /// Its name in the session's directory.
        package var filename: String
        /// Why: a word, `removed` for a file that was removed on purpose before.
        package var reason: String
    }
}
