package import Files
import Glibc
package import Messages
package import Recording
package import SystemPackage

/// The archives of a data directory and what is noted beside them: `<session>.zip[.p7m]`, `<session>~<number>.zip[.p7m]`
/// for sections, `<session>.archive.json` until `<session>.receipt.json` is there. Waits for the disk.
package struct ArchiveDirectory: Sendable {
    /// Its name in the data directory.
    static let directoryName = ConfirmedUpload.archivesName

    private static let recordSuffix = ConfirmedUpload.recordSuffix
    private static let receiptSuffix = ConfirmedUpload.receiptSuffix
    private static let archiveSuffixes = [".zip.p7m", ".zip"]
    /// When what was being written by a program that was killed may go: no program writes so long without a pause.
    private static let leftoverAge = 3600.0

    /// When a session that failed without an end counts as over.
    private static let quietTime = 600.0

    package let data: FilePath
    package let directory: Directory
    private let ledger: DiscardLedger

    package init(_ data: FilePath) {
        self.data = data
        ledger = DiscardLedger(in: data)
        directory = Directory(data.appending(Self.directoryName))
    }

    /// Where a file is under the data directory, as people and programs write it.
    package static func path(of file: String) -> String { "\(directoryName)/\(file)" }

    /// The session of an archive's file; `nil` if no archive has such a name. No session has a `~` in its name.
    static func session(ofArchive file: String) -> String? {
        guard let suffix = archiveSuffixes.first(where: { file.hasSuffix($0) }) else { return nil }
        let stem = file.dropLast(suffix.count).prefix { $0 != "~" }
        return (try? SessionIdentifier(String(stem)))?.text
    }

    // MARK: Looking

    /// Every session that is here, or of which there is an archive, by name.
    /// - Parameters:
    ///   - first: the name that they come after.
    ///   - limit: how many at most. No more directories of sessions are looked into than that takes.
    package func sessions(after first: String = "", limit: Int = .max) throws(RecordingError) -> [SessionIdentifier] {
        var noted: Set<String> = []
        for file in try directory.names() {
            for suffix in [Self.recordSuffix, Self.receiptSuffix] where file.hasSuffix(suffix) {
                noted.insert(String(file.dropLast(suffix.count)))
            }
        }
        let recordings = SessionDirectory.recordings(in: data)
        var sessions: [SessionIdentifier] = []
        for name in noted.union(try recordings.names()).filter({ $0 > first }).sorted() where sessions.count < limit {
            guard let session = try? SessionIdentifier(name),
                noted.contains(name) || (try? SessionDirectory.open(session, in: data)) != nil
            else { continue }
            sessions.append(session)
        }
        return sessions
    }

    /// How many archives there are, and their bytes.
    package func usage() throws(RecordingError) -> (archives: Int, bytes: Int) {
        var usage = (archives: 0, bytes: 0)
        for file in try directory.names() where Self.session(ofArchive: file) != nil {
            guard let status = try? directory.path.appending(file).stat(followTargetSymlink: false) else { continue }
            usage.archives += 1
            usage.bytes += Int(status.size)
        }
        return usage
    }

    /// What is on disk of a session.
    package func view(of session: SessionIdentifier, at now: WallTime) throws(RecordingError) -> SessionView {
        var view = SessionView()
        view.isDiscarded = try isDiscarded(session)
        // What there is may not even be readable.
        if view.isDiscarded { return view }
        // In this order: another archiver may put the receipt in the record's place meanwhile.
        let made = Result { () throws(RecordingError) in
            try note(ArchiveRecord.self, of: session, in: Self.recordSuffix)
        }
        let receipt = try note(ArchiveReceipt.self, of: session, in: Self.receiptSuffix)
        let recorded = try? SessionDirectory.open(session, in: data)
        view.exists = recorded != nil
        let known = Result { () throws(RecordingError) in try recorded?.record() }
        if let receipt, isNote(receipt, of: try? known.get()) {
            view.receipt = receipt
            // What the session has is of no account any more.
            view.isOver = view.exists
            view.archiveExists = receipt.archives.contains { exists($0.archive) }
            return view
        }
        if let recorded, let status = try known.get()?.status {
            view.isCancelled = status == .cancelled
            // The last thing that a recorder writes; missing where a session failed before its end. The recorder may still
            // be at that one's files.
            view.isOver = status.isOver && (recorded.hasChecksums || status == .failed && isQuiet(recorded, at: now))
        }
        let record = try made.get()
        if let record, isNote(record, of: try known.get()) {
            view.record = record
            view.archiveExists = record.archives.allSatisfy { directory.contains($0.name) }
        } else {
            let archives = (record?.archives ?? receipt?.archives.map(\.archive) ?? []).filter(exists).map(\.name)
            view.earlier =
                archives.isEmpty
                ? nil
                : SessionView.Earlier(
                    record: record, receipt: record == nil ? receipt : nil, archives: archives)
        }
        return view
    }

    /// Whether a note is of the session that is here, and not of an earlier one of its name. If none is here, or its record can't be
    /// read, nothing says that there was another one.
    private func isNote(_ note: some ArchiveNote, of record: SessionRecord?) -> Bool {
        record.map { $0.startDate.isStart(noted: note.startDate, on: note.date) } ?? true
    }

    /// Whether nothing has changed in a session's directory for a while.
    private func isQuiet(_ session: SessionDirectory, at now: WallTime) -> Bool {
        let path = session.directory.path
        return [path, path.appending(SessionDirectory.recordName)].allSatisfy { path in
            guard let status = try? path.stat() else { return false }
            return now.seconds - Double(status.st_mtim.tv_sec) > Self.quietTime
        }
    }

    /// What was noted of a session; `nil` if nothing was.
    private func note<Note: ArchiveNote>(
        _ type: Note.Type, of session: SessionIdentifier, in suffix: String
    ) throws(RecordingError) -> Note? {
        let name = session.text + suffix
        let bytes: [UInt8]
        do throws(RecordingError) {
            bytes = try directory.read(name)
        } catch  where error.code == .notFound {
            return nil
        }
        guard let note = try? WireCoding.decode(type, from: bytes), note.session == session, note.isSound else {
            throw unsound(name)
        }
        return note
    }

    private func unsound(_ name: String) -> RecordingError {
        RecordingError(
            .unreadable, action: "read", path: directory.path.appending(name),
            reason: "it is not what an archiver writes",
            advice: "Nothing is done with this session: move the file away and send archive.retry, and its archive is "
                + "made and uploaded anew.")
    }

    /// Whether a confirmed archive is here, and not another file of that name.
    private func exists(_ archive: ArchiveRecord.Archive) -> Bool {
        guard let status = try? directory.path.appending(archive.name).stat(followTargetSymlink: false) else {
            return false
        }
        return status.type == .regular && status.size == archive.bytes
    }

    // MARK: Discarding

    /// Sessions that were discarded, and of which something is still here.
    package func discarded() throws(RecordingError) -> [SessionIdentifier] {
        if ledger.isEmpty { return [] }
        let sessions = Set(try directory.names().compactMap(Self.session(ofFile:)))
        var discarded: [SessionIdentifier] = []
        for session in sessions where try isDiscarded(session) { discarded.append(session) }
        return discarded.sorted()
    }

    /// Whether a session was discarded, and something of it is still here. If there is one of the same name now, what is here
    /// may be of that one.
    private func isDiscarded(_ session: SessionIdentifier) throws(RecordingError) -> Bool {
        guard let discarded = try ledger.newest(of: PersonalName(of: session.text)) else { return false }
        guard let recorded = try? SessionDirectory.open(session, in: data) else {
            return try directory.names().contains { Self.session(ofFile: $0) == session }
        }
        let known = try? recorded.record()
        let notes: [(any ArchiveNote)?] = [
            try? note(ArchiveRecord.self, of: session, in: Self.recordSuffix),
            try? note(ArchiveReceipt.self, of: session, in: Self.receiptSuffix),
        ]
        // Of a clock that was set back, the date of the session's own note may be that early too.
        return notes.contains { note in
            note.map { $0.date < discarded.date && ($0.startDate == nil || !isNote($0, of: known)) } ?? false
        }
    }

    /// The session of a file that programs write here, whole or not; `nil` for a claim, and for what is not ours.
    private static func session(ofFile file: String) -> SessionIdentifier? {
        let name = Directory.finalName(ofTemporary: file) ?? file
        for suffix in [recordSuffix, receiptSuffix] where name.hasSuffix(suffix) {
            return try? SessionIdentifier(String(name.dropLast(suffix.count)))
        }
        return session(ofArchive: name).flatMap { try? SessionIdentifier($0) }
    }

    /// Removes what is here of a session that was discarded, the receipt last.
    /// - Returns: the archives that were here.
    package func discard(_ session: SessionIdentifier) throws(RecordingError) -> [String] {
        let files = try directory.names().filter { Self.session(ofFile: $0) == session }
        let receipt = session.text + Self.receiptSuffix
        for file in files where file != receipt { try Directory.removeFile(directory.path.appending(file)) }
        if files.contains(receipt) { try Directory.removeFile(directory.path.appending(receipt)) }
        try directory.sync()
        return files.filter { !$0.hasPrefix(".") && Self.session(ofArchive: $0) != nil }.sorted()
    }

    // MARK: Changing

    /// Takes a session, so that no other archiver works on it.
    /// - Returns: `nil` while another one does.
    package func claim(_ session: SessionIdentifier) throws(RecordingError) -> DirectoryLock? {
        try directory.create()
        return try DirectoryLock.take(session.text, in: directory)
    }

    /// Notes what was made; on disk when it returns.
    package func write(_ record: ArchiveRecord) throws(RecordingError) {
        try directory.replace(
            record.session.text + Self.recordSuffix, with: StoredDocument(record, list: "files", \.files))
    }

    /// Notes what the receiver confirmed, in place of what was made; on disk when it returns.
    package func write(_ receipt: ArchiveReceipt) throws(RecordingError) {
        try directory.replace(
            receipt.session.text + Self.receiptSuffix, with: StoredDocument(receipt, list: "files", \.files))
        // Beside a receipt it means nothing. If it stays, it goes when the receipt is written again.
        let record = receipt.session.text + Self.recordSuffix
        if directory.contains(record) { try? Directory.removeFile(directory.path.appending(record)) }
    }

    /// Removes archives that the receiver has.
    /// - Returns: those that were there.
    package func removeArchives(of receipt: ArchiveReceipt) throws(RecordingError) -> [ArchiveRecord.Archive] {
        let archives = receipt.archives.map(\.archive).filter(exists)
        for archive in archives { try Directory.removeFile(directory.path.appending(archive.name)) }
        try directory.sync()
        return archives
    }

    /// Removes what programs left that were killed: claims, and files that got no name.
    package func removeLeftovers(at now: WallTime) throws(RecordingError) {
        for file in try directory.names() where file.hasPrefix(".") {
            if let name = DirectoryLock.name(ofFile: file) {
                _ = try DirectoryLock.take(name, in: directory)
                continue
            }
            let path = directory.path.appending(file)
            guard Directory.finalName(ofTemporary: file) != nil,
                let status = try? path.stat(followTargetSymlink: false),
                status.type == .regular, now.seconds - Double(status.st_mtim.tv_sec) > Self.leftoverAge
            else { continue }
            try Directory.removeFile(path)
        }
    }
}
