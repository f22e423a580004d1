package import Files
package import Messages
import Synchronization
package import SystemPackage

/// How a discarded session is removed from `recordings/`, step by step. Each step can be repeated, and an interrupted one is
/// found at the next start.
///
/// 1. `retire` renames its directory to `.discarded~<hash>`: no program finds the session any more.
/// 2. `note` adds a line to `discarded.ndjson`.
/// 3. `erase` removes the directory's contents, `session.json` last: as long as that exists, the line may be missing.
/// 4. Once the write-ahead log has nothing of the session, `finish` removes the empty directory.
package struct SessionDisposal: Sendable {
    private static let prefix = ".discarded~"

    /// The state on disk of a session that is to be discarded.
    package struct View: Sendable {
        /// The session's record; nil if there is none of this name.
        package var record: SessionRecord?
        /// When the session's upload was confirmed; nil if it was not.
        package var uploaded: WallTime?
        /// Whether the session has annotations that came too late for the upload and exist nowhere else.
        package var hasLaterAnnotations = false
        /// Files of the session that could not be archived, and exist nowhere else.
        package var unarchived: [String] = []
        /// Whether only parts of it are left that were set aside because another machine continued it.
        package var isSetAside = false
        /// Whether its directory is a symbolic link.
        package var isLink = false
        /// Whether a session of this name is being discarded: its directory is renamed, and not removed yet.
        package var isRetired = false
        /// The record of that session; nil once `erase` is done.
        package var retired: SessionRecord?
        /// The newest ledger line for a session of this name.
        package var discarded: DiscardedSession?

        package init() {}
    }

    private let data: FilePath
    private let calls: FileCalls
    private let ledger: DiscardLedger
    private let claims = Claims()

    /// Claims on the sessions that this program discards: a recorder of another shard may start meanwhile.
    private final class Claims: Sendable {
        let held = Mutex([PersonalName: DirectoryLock]())
    }

    package init(in data: FilePath, calls: FileCalls = .system) {
        self.data = data
        self.calls = calls
        ledger = DiscardLedger(in: data)
    }

    private var recordings: Directory { SessionDirectory.recordings(in: data) }

    private func retired(_ name: PersonalName) -> Directory {
        Directory(recordings.path.appending(Self.prefix + name.digest))
    }

    /// Claims a session that is to be discarded, until `finish`.
    /// - Returns: false if another program discards it.
    private func claim(_ name: PersonalName) -> Bool {
        if claims.held.withLock({ $0[name] != nil }) { return true }
        do throws(RecordingError) {
            guard let lock = try DirectoryLock.take(name.digest, in: recordings) else { return false }
            claims.held.withLock { $0[name] = lock }
        } catch {
            // Without a claim (a full disk, or no permission), another recorder may repeat the removal. Its steps can be repeated.
        }
        return true
    }

    private func release(_ name: PersonalName) { claims.held.withLock { $0[name] = nil } }

    /// The sessions whose removal was begun and not finished, and that no other program discards.
    package func unfinished() throws(RecordingError) -> [PersonalName] {
        try recordings.names().filter { $0.hasPrefix(Self.prefix) }
            .compactMap { PersonalName(digest: String($0.dropFirst(Self.prefix.count))) }.sorted {
                $0.digest < $1.digest
            }.filter(claim)
    }

    /// Up to `limit` sessions of a shard of which everything was uploaded, confirmed before a date.
    package func uploaded(
        before date: WallTime, shard: Shard?, limit: Int
    ) throws(RecordingError) -> [SessionIdentifier] {
        var sessions: [SessionIdentifier] = []
        for session in try SessionDirectory.sessions(in: data) where sessions.count < limit {
            guard let upload = ConfirmedUpload.newest(of: session, in: data), upload.date < date,
                upload.unarchived.isEmpty,
                let directory = try? SessionDirectory.open(session, in: data),
                let record = try? directory.record(), record.session == session, record.status.isOver,
                !directory.isLink, upload.isOfSession(from: record.startDate),
                record.shard == nil || record.shard == shard,
                let annotations = try? directory.annotations(of: record), !upload.lacks(one: annotations)
            else { continue }
            sessions.append(session)
        }
        return sessions
    }

    /// The first part of a session that was set aside at a fail-over; one without a record is left to `erase`.
    private func partSetAside(of name: PersonalName) throws(RecordingError) -> SessionDirectory? {
        try SessionDirectory.partsSetAside(of: name, in: data).first {
            $0.directory.contains(SessionDirectory.recordName)
        }
    }

    /// Reads the state of a session, by its name or by the hash of it.
    /// - Throws: `unreadable`, `inputOutput`.
    package func view(_ session: SessionIdentifier?, _ name: PersonalName) throws(RecordingError) -> View {
        var view = View()
        if let session, let directory = try? SessionDirectory.open(session, in: data) {
            let record = try directory.record()
            view.record = record
            view.isLink = directory.isLink
            if let upload = ConfirmedUpload.read(of: record, in: data) {
                view.uploaded = upload.date
                view.unarchived = upload.unarchived
                view.hasLaterAnnotations = upload.lacks(one: try directory.annotations(of: record))
            }
        } else if session != nil, let part = try partSetAside(of: name) {
            view.record = try part.record()
            view.isSetAside = true
            view.isLink = part.isLink
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
        let name = PersonalName(of: session.text)
        // Another program may still clear its log of an earlier session of this name.
        _ = claim(name)
        do throws(RecordingError) {
            try retire(session, name)
        } catch {
            if !retired(name).exists { release(name) }
            throw error
        }
    }

    private func retire(_ session: SessionIdentifier, _ name: PersonalName) throws(RecordingError) {
        let retired = retired(name).path.lastComponent?.string ?? ""
        if !recordings.contains(session.text),
            let part = try partSetAside(of: name)?.directory.path.lastComponent
        {
            let new = "\(SessionDirectory.recordingsName)/\(retired)"
            try Directory(data).rename("\(SessionDirectory.takenOverName)/\(part.string)", to: new, calls: calls)
        } else {
            try recordings.rename(session.text, to: retired, calls: calls)
        }
        try recordings.sync(calls: calls)
    }

    package func note(_ session: DiscardedSession) throws(RecordingError) {
        try session.append(in: data, calls: calls)
    }

    package func erase(_ name: PersonalName) throws(RecordingError) {
        let directory = retired(name)
        let entries = try directory.names().filter { $0 != SessionDirectory.recordName }.map {
            directory.path.appending($0)
        }
        let parts = try SessionDirectory.partsSetAside(of: name, in: data).map(\.directory.path)
        for path in parts + entries {
            try Directory.removeTree(path, advice: "Let this user write to it, then discard the session again.")
        }
        // A killed fill or import leaves a claim with the session's name. Its next owner removes it; if it may not be opened, the
        // rest is erased all the same.
        let claims = try recordings.names().compactMap { DirectoryLock.name(ofFile: $0) }
        for claim in claims where PersonalName(of: claim) == name { _ = try? DirectoryLock.take(claim, in: recordings) }
        if directory.exists { try directory.sync(calls: calls) }
        if directory.contains(SessionDirectory.recordName) {
            try Directory.removeFile(directory.path.appending(SessionDirectory.recordName))
            try directory.sync(calls: calls)
        }
    }

    package func finish(_ name: PersonalName) throws(RecordingError) {
        // The directory may by now hold another session of this name.
        let isGone = try Directory.removeEmpty(retired(name).path)
        try recordings.sync(calls: calls)
        if isGone { release(name) }
    }
}
