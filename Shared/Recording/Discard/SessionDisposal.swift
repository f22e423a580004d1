package import Files
package import Messages
package import SystemPackage

/// How a session that is discarded leaves `recordings/`, step by step. Each step can be repeated, and what a kill interrupts is
/// found at the next start.
///
/// 1. `retire` renames its directory to `.discarded~<hash>`: no program finds the session any more.
/// 2. `note` adds a line to `discarded.ndjson`.
/// 3. `erase` removes what is in the directory, `session.json` last: while that is there, the line may be missing.
/// 4. Once the write-ahead log has nothing of it, `finish` removes the directory, which is empty.
package struct SessionDisposal: Sendable {
    private static let prefix = ".discarded~"

    /// A session that is to be discarded, as the disk has it.
    package struct View: Sendable {
        /// What is known of it; nil if there is none of this name.
        package var record: SessionRecord?
        /// When its upload was confirmed.
        package var uploaded: WallTime?
        /// Whether it has annotations that came too late for the upload: they are nowhere else.
        package var hasLaterAnnotations = false
        /// Whether one of this name is being discarded: its directory is renamed, and not removed yet.
        package var isRetired = false
        /// What is known of that one; nil once `erase` is done with it.
        package var retired: SessionRecord?
        /// The newest line of a session of this name.
        package var discarded: DiscardedSession?

        package init() {}
    }

    private let data: FilePath
    private let calls: FileCalls
    private let ledger: DiscardLedger

    package init(in data: FilePath, calls: FileCalls = .system) {
        self.data = data
        self.calls = calls
        ledger = DiscardLedger(in: data)
    }

    private var recordings: Directory { SessionDirectory.recordings(in: data) }

    private func retired(_ name: PersonalName) -> Directory {
        Directory(recordings.path.appending(Self.prefix + name.digest))
    }

    /// The sessions that are being discarded.
    package func unfinished() throws(RecordingError) -> [PersonalName] {
        try recordings.names().filter { $0.hasPrefix(Self.prefix) }
            .compactMap { PersonalName(digest: String($0.dropFirst(Self.prefix.count))) }.sorted {
                $0.digest < $1.digest
            }
    }

    /// Sessions of a shard whose upload was confirmed before a date, at most so many.
    package func uploaded(
        before date: WallTime, shard: Shard?, limit: Int
    ) throws(RecordingError) -> [SessionIdentifier] {
        var sessions: [SessionIdentifier] = []
        for session in try SessionDirectory.sessions(in: data) where sessions.count < limit {
            guard let upload = ConfirmedUpload.newest(of: session, in: data), upload.date < date,
                let directory = try? SessionDirectory.open(session, in: data),
                let record = try? directory.record(), record.status.isOver,
                upload.isOfSession(from: record.startDate),
                record.shard == nil || record.shard == shard,
                let annotations = try? directory.annotations(of: record), !upload.lacks(one: annotations)
            else { continue }
            sessions.append(session)
        }
        return sessions
    }

    /// Looks at a session by its name, or by what stands for it.
    /// - Throws: `unreadable`, `inputOutput`.
    package func view(_ session: SessionIdentifier?, _ name: PersonalName) throws(RecordingError) -> View {
        var view = View()
        if let session, let directory = try? SessionDirectory.open(session, in: data) {
            let record = try directory.record()
            view.record = record
            if let upload = ConfirmedUpload.read(of: record, in: data) {
                view.uploaded = upload.date
                view.hasLaterAnnotations = upload.lacks(one: try directory.annotations(of: record))
            }
        }
        let directory = retired(name)
        view.isRetired = directory.exists
        if directory.contains(SessionDirectory.recordName) {
            let retired = try StoredJSON.read(SessionRecord.self, from: SessionDirectory.recordName, in: directory)
            view.retired = retired
            if view.record == nil { view.uploaded = ConfirmedUpload.read(of: retired, in: data)?.date }
        }
        view.discarded = try ledger.newest(of: name)
        return view
    }

    package func retire(_ session: SessionIdentifier) throws(RecordingError) {
        try SessionDirectory(of: session, madeAt: recordings.path.appending(session.text)).removeRewrite()
        let name = retired(PersonalName(of: session.text))
        try recordings.rename(session.text, to: name.path.lastComponent?.string ?? "", calls: calls)
        try recordings.sync(calls: calls)
    }

    package func note(_ session: DiscardedSession) throws(RecordingError) {
        try session.append(in: data, calls: calls)
    }

    package func erase(_ name: PersonalName) throws(RecordingError) {
        let directory = retired(name)
        for entry in try directory.names() where entry != SessionDirectory.recordName {
            try Directory.removeTree(
                directory.path.appending(entry),
                advice: "Let this user write to it, then discard the session again.")
        }
        // Nothing may be left of it when its record is gone.
        if directory.exists { try directory.sync(calls: calls) }
        if directory.contains(SessionDirectory.recordName) {
            try Directory.removeFile(directory.path.appending(SessionDirectory.recordName))
            try directory.sync(calls: calls)
        }
    }

    package func finish(_ name: PersonalName) throws(RecordingError) {
        // Another session of this name may be in it by now.
        _ = try Directory.removeEmpty(retired(name).path)
        try recordings.sync(calls: calls)
    }
}
