package import Messages
package import SystemPackage

/// A session's directory, `<data>/recordings/<session>`: who else needs a file of it finds out here where it is.
///
/// `session.json` and `report.json` are replaced whole: at every moment, also after a power cut, the old or the new one
/// is there.
package struct SessionDirectory: Hashable, Sendable {
    package let session: SessionIdentifier
    package let directory: Directory

    private static let recordings = "recordings"
    private static let recordName = "session.json"
    private static let reportName = "report.json"

    private init(_ session: SessionIdentifier, in data: FilePath) {
        self.session = session
        directory = Directory(data.appending(Self.recordings).appending(session.text))
    }

    /// Makes the directory for a new session, and the ones above it where they are missing.
    ///
    /// - Parameter data: the data directory.
    /// - Throws: `alreadyExists` if there is a session of this name.
    package static func create(
        _ session: SessionIdentifier, in data: FilePath
    ) throws(RecordingError) -> SessionDirectory {
        let new = SessionDirectory(session, in: data)
        try Directory(data.appending(recordings)).create()
        try new.directory.createExclusively()
        return new
    }

    /// The directory of a session that was recorded earlier.
    ///
    /// - Throws: `notFound`.
    package static func open(
        _ session: SessionIdentifier, in data: FilePath
    ) throws(RecordingError) -> SessionDirectory {
        let old = SessionDirectory(session, in: data)
        guard old.directory.contains(recordName) else {
            throw RecordingError(
                .notFound, action: "find session \(session)", path: old.directory.path,
                reason: "there is no \(recordName)", advice: "List the sessions for their names.")
        }
        return old
    }

    /// The sessions in a data directory, by name. Other things that lie there are passed over.
    package static func sessions(in data: FilePath) throws(RecordingError) -> [SessionIdentifier] {
        try Directory(data.appending(recordings)).names()
            .compactMap { try? SessionIdentifier($0) }
            .filter { SessionDirectory($0, in: data).directory.contains(recordName) }
            .sorted()
    }

    /// Where a file of the session is under the data directory, as events name it.
    package func relativePath(of file: String) -> String {
        "\(Self.recordings)/\(session)/\(file)"
    }

    /// Replaces `session.json`.
    package func write(_ record: SessionRecord) throws(RecordingError) {
        try directory.replace(Self.recordName, with: StoredJSON.document(record))
    }

    /// Reads `session.json`.
    ///
    /// - Throws: `notFound`, `unreadable`.
    package func record() throws(RecordingError) -> SessionRecord {
        try StoredJSON.read(SessionRecord.self, from: Self.recordName, in: directory)
    }

    /// Replaces `report.json`.
    package func write(_ report: SessionReport) throws(RecordingError) {
        try directory.replace(Self.reportName, with: StoredJSON.document(report))
    }

    /// Reads `report.json`.
    ///
    /// - Throws: `notFound` while the session is not over, `unreadable`.
    package func report() throws(RecordingError) -> SessionReport {
        try StoredJSON.read(SessionReport.self, from: Self.reportName, in: directory)
    }
}
