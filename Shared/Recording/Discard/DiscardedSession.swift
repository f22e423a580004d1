package import Files
package import Messages
package import SystemPackage

/// A session that was discarded: a line of `recordings/discarded.ndjson`, written before any file of the session is removed.
///
/// It contains hashes in place of the names of session and devices. From it, the other programs learn what to remove, even if
/// they did not run when the session was discarded.
package struct DiscardedSession: Codable, Hashable, Sendable {
    package static let schema = "discarded.v1"
    package static let fileName = "discarded.ndjson"

    package enum Reason: String, Codable, Sendable {
        /// By request, after its upload was confirmed or it was cancelled.
        case requested
        /// By request with force.
        case forced
        /// Its upload was confirmed longer ago than sessions are kept.
        case expired
    }

    package private(set) var schema = DiscardedSession.schema
    package var session: PersonalName
    package var devices: [PersonalName]
    package var startDate: WallTime
    /// When the session ended; if unknown, when it was discarded.
    package var endDate: WallTime
    /// When its upload was confirmed; nil if it was not.
    package var uploaded: WallTime?
    package var reason: Reason
    /// When the session was discarded.
    package var date: WallTime

    package init(_ record: SessionRecord, uploaded: WallTime?, reason: Reason, date: WallTime) {
        session = PersonalName(of: record.session.text)
        devices = Set(record.logs.map(\.device)).sorted().map { PersonalName(of: $0) }
        startDate = record.startDate
        // A publisher on the recorder's machine has the date that was set.
        endDate = record.endDate.map { max($0, $0.adding(record.clockAhead)) } ?? date
        self.uploaded = uploaded
        self.reason = reason
        self.date = date
    }

    /// Adds the line to the ledger. When this returns, the line survives a power cut.
    package func append(in data: FilePath, calls: FileCalls = .system) throws(RecordingError) {
        try LineFile(Self.fileName, in: SessionDirectory.recordings(in: data)).append(
            [StoredJSON.line(self)], calls: calls)
    }
}
