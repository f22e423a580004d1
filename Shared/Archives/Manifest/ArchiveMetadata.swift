import Encryption
package import Messages
import Recording

/// An archive's manifest, `metadata.json`, which is its last file.
///
/// The field names are those of the predecessors, so that their programs can read it; bytes, hashes, samples and gaps were added.
/// The manifest does not depend on when, where or by whom the archive was made, except for this program's version.
package struct ArchiveMetadata: Codable, Hashable, Sendable {
    /// The value of `schema`.
    package static let schema = "metadata.v1"

    package private(set) var schema = ArchiveMetadata.schema
    package var deviceInfo: String
    /// Always "Unknown": a device here has a name but no model.
    package private(set) var deviceTypeIdentifier = "Unknown"
    package private(set) var appName = "Holdfast"
    /// The version of the program that made the archive: `version 0.4.0`.
    package var appVersion: String
    /// Equal to `appVersion`. The predecessors' programs require this field.
    package var rsdFrameworkVersion: String
    /// The task, or the section of the archive.
    package var taskIdentifier: String
    package var taskRunUUID: String
    package var startDate: WallTime
    package var endDate: WallTime
    package var schemaIdentifier: String?
    package var schemaRevision: Int?
    package var session: String
    /// How the session ended: `finished`, `cancelled`, `failed`.
    package var status: String
    /// Additional keys of the session, as given at its start.
    package var keys: JSONValue?
    /// Every file of the archive except the manifest, in the archive's order.
    package var files: [File]
    /// Files of the session that are not in the archive; `nil` if all are.
    package var leftOut: [LeftOut]?

    /// Whether the archive lacks files that were not removed intentionally.
    package var hasLoss: Bool { !unarchived.isEmpty }

    /// Files that are not in the archive although they were not removed intentionally.
    package var unarchived: [LeftOut] { (leftOut ?? []).filter { $0.reason != "removed" } }

    package struct File: Codable, Hashable, Sendable {
        package var filename: String
        /// When the file was started; for a generated file, the session's end.
        package var timestamp: WallTime
        package var contentType: String
        /// The content of the file: a log's name or a result's identifier.
        package var identifier: String?
        /// The step in which the file was started.
        package var stepPath: String?
        package var bytes: Int
        /// The SHA-256 in lower-case hexadecimal digits.
        package var sha256: String
        /// Only for stream files: the number of samples.
        package var samples: Int?
        /// Only for stream files: the number of gaps.
        package var gaps: Int?
        /// Only for stream files: the fields of the samples if they are records. Otherwise the samples are numbers.
        package var fields: [Field]?
        /// Only for stream files: whether the stream was measured, replayed or simulated; `nil` if no publisher reported it.
        package var origin: DataOrigin?
        /// Only for stream files: whether the samples were filled in after the session; `nil` if they were recorded.
        package var filled: Bool?
        /// The file's name in the session's directory, if it differs.
        package var originalName: String?
    }

    package struct Field: Codable, Hashable, Sendable {
        package var name: String
        /// The type of the values: number, text, boolean, date, json.
        package var type: String
    }

    package struct LeftOut: Codable, Hashable, Sendable {
        package var filename: String
        /// A word for the reason; `removed` for a file that was removed intentionally.
        package var reason: String

        /// Left out of a session that failed before its end: the recorder may still write its last files.
        package static let unfinished = LeftOut(
            filename: SessionDirectory.checksumsName, reason: ArchiveError.Code.notOver.rawValue)
    }
}
