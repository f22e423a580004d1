package import Files
package import Messages
package import SystemPackage

/// A session that was discarded: a line of `recordings/discarded.ndjson`, written before anything of it is removed.
///
/// It contains hashes in place of the names of session and devices. The other programs learn from it what to remove, also if
/// they did not run when the session was discarded.
package struct DiscardedSession: Codable, Hashable, Sendable {
    package static let schema = "discarded.v1"
    package static let fileName = "discarded.ndjson"

    /// Why it was discarded.
    package enum Reason: String, Codable, Sendable {
        /// Asked for, once its upload was confirmed or it was cancelled.
        case requested
        /// Asked for with force.
        case forced
        /// Its upload was confirmed long enough ago.
        case expired
    }

    package private(set) var schema = DiscardedSession.schema
    package var session: PersonalName
    /// The devices of its streams.
    package var devices: [PersonalName]
    package var startDate: WallTime
    /// When it ended; if that is not known, when it was discarded.
    package var endDate: WallTime
    /// When its upload was confirmed; nil if it was not.
    package var uploaded: WallTime?
    package var reason: Reason
    /// When it was discarded.
    package var date: WallTime

    package init(_ record: SessionRecord, uploaded: WallTime?, reason: Reason, date: WallTime) {
        session = PersonalName(of: record.session.text)
        devices = Set(record.logs.map(\.device)).sorted().map { PersonalName(of: $0) }
        startDate = record.startDate
        endDate = record.endDate ?? date
        self.uploaded = uploaded
        self.reason = reason
        self.date = date
    }

    /// Adds it. When this returns, that would survive a power cut.
    package func append(in data: FilePath, calls: FileCalls = .system) throws(RecordingError) {
        try LineFile(Self.fileName, in: SessionDirectory.recordings(in: data)).append(
            [StoredJSON.line(self)], calls: calls)
    }
}
