package import Files
import Glibc
package import Messages
package import Recording
package import SystemPackage

/// The archives of a data directory and their notes: `<session>.zip[.p7m]`, `<session>~<number>.zip[.p7m]` for sections, and
/// `<session>.archive.json` until `<session>.receipt.json` exists. Blocks on disk access.
package struct ArchiveDirectory: Sendable {
    /// The directory's name in the data directory.
    static let directoryName = ConfirmedUpload.archivesName

    private static let recordSuffix = ConfirmedUpload.recordSuffix
    private static let receiptSuffix = ConfirmedUpload.receiptSuffix
    private static let archiveSuffixes = [".zip.p7m", ".zip"]
    /// The age, in seconds, after which an incomplete file may be removed: no program pauses writing for so long.
    private static let leftoverAge = 3600.0

    /// How long a failed session without checksums must be unchanged, in seconds, before it counts as over.
    private static let quietTime = 600.0

    package let data: FilePath
    package let directory: Directory
    private let ledger: DiscardLedger

    package init(_ data: FilePath) {
        self.data = data
        ledger = DiscardLedger(in: data)
        directory = Directory(data.appending(Self.directoryName))
    }

    /// A file's path relative to the data directory.
    package static func path(of file: String) -> String { "\(directoryName)/\(file)" }

    /// The session of an archive's file; `nil` if the name is not that of an archive. Session names do not contain `~`.
    static func session(ofArchive file: String) -> String? {
        guard let suffix = archiveSuffixes.first(where: { file.hasSuffix($0) }) else { return nil }
        let stem = file.dropLast(suffix.count).prefix { $0 != "~" }
        return (try? SessionIdentifier(String(stem)))?.text
    }

    // MARK: Looking

    /// All sessions with a recording or a note of an archive, by name.
    /// - Parameters:
    ///   - first: only names after this one are returned.
    ///   - limit: the maximum number of sessions. Also limits how many session directories are opened.
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

    /// The number of archives, and their total size in bytes.
    package func usage() throws(RecordingError) -> (archives: Int, bytes: Int) {
        var usage = (archives: 0, bytes: 0)
        for file in try directory.names() where Self.session(ofArchive: file) != nil {
            guard let status = try? directory.path.appending(file).stat(followTargetSymlink: false) else { continue }
            usage.archives += 1
            usage.bytes += Int(status.size)
        }
        return usage
    }

    /// The existing files among these, by their paths in the data directory.
    /// - Throws: `notFound` if there are no recordings at all: then no missing file counts as removed.
    package func existing(_ paths: [String]) throws(RecordingError) -> Set<String> {
        let found = Set(paths.filter(Directory(data).contains))
        let recordings = SessionDirectory.recordings(in: data)
        // A recorder on an empty mount point has hidden files there.
        if found.isEmpty, try recordings.names().allSatisfy({ $0.hasPrefix(".") }) {
            throw RecordingError(
                .notFound, action: "find the session's files in", path: recordings.path,
                reason: "there are no recordings", advice: "Check that its disk is mounted.")
        }
        return found
    }

    /// The state of a session on disk.
    package func view(of session: SessionIdentifier, at now: WallTime) throws(RecordingError) -> SessionView {
        var view = SessionView()
        view.isDiscarded = try isDiscarded(session)
        // The remaining files may not be readable.
        if view.isDiscarded { return view }
        // The record is read first, because another archiver may replace it with the receipt meanwhile.
        let made = Result { () throws(RecordingError) in
            try note(ArchiveRecord.self, of: session, in: Self.recordSuffix)
        }
        let noted = try note(ArchiveReceipt.self, of: session, in: Self.receiptSuffix)
        let recorded = try? SessionDirectory.open(session, in: data)
        view.exists = recorded != nil
        let isFinished = recorded?.hasChecksums ?? false
        let known = Result { () throws(RecordingError) in try recorded?.record() }
        // Archives from before the recorder finished the session may lack its last samples: they are made again.
        func isOutdated(_ note: some ArchiveNote) -> Bool {
            guard isFinished, note.isOfUnfinishedSession else { return false }
            return isNote(note, of: try? known.get())
        }
        let receipt = noted.flatMap { isOutdated($0) ? nil : $0 }
        if let receipt, isNote(receipt, of: try? known.get()) {
            view.receipt = receipt
            // After a receipt, the session's content does not matter.
            view.isOver = view.exists
            view.archiveExists = receipt.archives.contains { exists($0.archive) }
            return view
        }
        if let recorded, let status = try known.get()?.status {
            view.isCancelled = status == .cancelled
            // The recorder writes the checksums last. They are missing if the session failed before its end, but then the
            // recorder may still be writing its files.
            view.isOver = status.isOver && (isFinished || status == .failed && isQuiet(recorded, at: now))
        }
        // An archive that was not uploaded may have the only copy of a file that was removed since.
        let record = try made.get().flatMap { record in
            isOutdated(record) && recorded?.hasFiles(of: record) ?? false ? nil : record
        }
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

    /// Whether the archives in a session's record have no file that was removed since.
    package func mayReplaceArchives(of session: SessionDirectory) -> Bool {
        guard let made = try? note(ArchiveRecord.self, of: session.session, in: Self.recordSuffix) else { return false }
        return isNote(made, of: try? session.record()) && session.hasFiles(of: made)
    }

    /// Whether a note belongs to the existing session and not to an earlier one of the same name. Without a readable session
    /// record, the note is assumed to belong.
    private func isNote(_ note: some ArchiveNote, of record: SessionRecord?) -> Bool {
        record.map { $0.startDate.isStart(noted: note.startDate, on: note.date) } ?? true
    }

    /// Whether a session's directory has not changed for a while.
    private func isQuiet(_ session: SessionDirectory, at now: WallTime) -> Bool {
        let path = session.directory.path
        return [path, path.appending(SessionDirectory.recordName)].allSatisfy { path in
            guard let status = try? path.stat() else { return false }
            return now.seconds - Double(status.st_mtim.tv_sec) > Self.quietTime
        }
    }

    /// Reads a note about a session; `nil` if there is none.
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
            reason: "it does not have an archiver's format",
            advice: "The session is left alone. Move the file away and send archive.retry to make and upload its "
                + "archive again.")
    }

    /// Whether a confirmed archive exists, and not a different file of its name.
    private func exists(_ archive: ArchiveRecord.Archive) -> Bool {
        guard let status = try? directory.path.appending(archive.name).stat(followTargetSymlink: false) else {
            return false
        }
        return status.type == .regular && status.size == archive.bytes
    }

    // MARK: Discarding

    /// Discarded sessions with remaining files here.
    package func discarded() throws(RecordingError) -> [SessionIdentifier] {
        if ledger.isEmpty { return [] }
        let sessions = Set(try directory.names().compactMap(Self.session(ofFile:)))
        var discarded: [SessionIdentifier] = []
        for session in sessions where try isDiscarded(session) { discarded.append(session) }
        return discarded.sorted()
    }

    /// Whether a session was discarded and has remaining files here. The files may belong to a later session of this name that
    /// exists, or that was removed without a discard.
    private func isDiscarded(_ session: SessionIdentifier) throws(RecordingError) -> Bool {
        let discarded = try ledger.lines(of: PersonalName(of: session.text))
        guard let last = discarded.last else { return false }
        let starts = Set(discarded.map(\.startDate))
        let found: [(any ArchiveNote)?] = [
            try? note(ArchiveRecord.self, of: session, in: Self.recordSuffix),
            try? note(ArchiveReceipt.self, of: session, in: Self.receiptSuffix),
        ]
        let notes = found.compactMap { $0 }
        func isLeftover(_ note: any ArchiveNote) -> Bool {
            note.startDate.map { starts.contains($0) } ?? (note.date < last.date)
        }
        guard let recorded = try? SessionDirectory.open(session, in: data) else {
            if !notes.isEmpty { return notes.allSatisfy { isLeftover($0) } }
            let files = try directory.names().filter { Self.session(ofFile: $0) == session }
            return !files.isEmpty && files.allSatisfy { isUnchanged($0, since: last.date) }
        }
        let known = try? recorded.record()
        return notes.contains { isLeftover($0) && ($0.startDate == nil || !isNote($0, of: known)) }
    }

    /// Whether a file was last changed at or before a time, or is gone.
    private func isUnchanged(_ file: String, since date: WallTime) -> Bool {
        guard let status = try? directory.path.appending(file).stat(followTargetSymlink: false) else { return true }
        let changed = Int64(status.st_mtim.tv_sec) * 1_000_000_000 + Int64(status.st_mtim.tv_nsec)
        return changed <= date.nanosecondsSince1970
    }

    /// The session of a complete or temporary file; `nil` for a claim and for files of other programs.
    private static func session(ofFile file: String) -> SessionIdentifier? {
        let name = Directory.finalName(ofTemporary: file) ?? file
        for suffix in [recordSuffix, receiptSuffix] where name.hasSuffix(suffix) {
            return try? SessionIdentifier(String(name.dropLast(suffix.count)))
        }
        return session(ofArchive: name).flatMap { try? SessionIdentifier($0) }
    }

    /// Removes the remaining files of a discarded session, the receipt last.
    /// - Returns: the names of the removed archives.
    package func discard(_ session: SessionIdentifier) throws(RecordingError) -> [String] {
        let files = try directory.names().filter { Self.session(ofFile: $0) == session }
        let receipt = session.text + Self.receiptSuffix
        for file in files where file != receipt { try Directory.removeFile(directory.path.appending(file)) }
        if files.contains(receipt) { try Directory.removeFile(directory.path.appending(receipt)) }
        try directory.sync()
        return files.filter { !$0.hasPrefix(".") && Self.session(ofArchive: $0) != nil }.sorted()
    }

    // MARK: Changing

    /// Claims a session, so that no other archiver works on it.
    /// - Returns: `nil` if another archiver has claimed it.
    package func claim(_ session: SessionIdentifier) throws(RecordingError) -> DirectoryLock? {
        try directory.create()
        return try DirectoryLock.take(session.text, in: directory)
    }

    /// Writes a record durably. If the disk has no room for it, its archives are removed: without a record they are
    /// made again, and that would need room for both. If a file was removed meanwhile, they may have its only copy, and stay.
    package func write(_ record: ArchiveRecord, calls: FileCalls = .system) throws(RecordingError) {
        do throws(RecordingError) {
            try directory.replace(
                record.session.text + Self.recordSuffix, with: StoredDocument(record, list: "files", \.files),
                calls: calls)
        } catch {
            let session = try? SessionDirectory.open(record.session, in: data)
            if error.code == .noSpace, session?.hasFiles(of: record) ?? false {
                for archive in record.archives { try? Directory.removeFile(directory.path.appending(archive.name)) }
            }
            throw error
        }
    }

    /// Writes a receipt durably and removes the record.
    package func write(_ receipt: ArchiveReceipt) throws(RecordingError) {
        try directory.replace(
            receipt.session.text + Self.receiptSuffix, with: StoredDocument(receipt, list: "files", \.files))
        // A record beside a receipt has no meaning. If it remains, the next write of the receipt removes it.
        let record = receipt.session.text + Self.recordSuffix
        if directory.contains(record) { try? Directory.removeFile(directory.path.appending(record)) }
    }

    /// Removes archives that the receiver has.
    /// - Returns: the archives that existed.
    package func removeArchives(of receipt: ArchiveReceipt) throws(RecordingError) -> [ArchiveRecord.Archive] {
        let archives = receipt.archives.map(\.archive).filter(exists)
        for archive in archives { try Directory.removeFile(directory.path.appending(archive.name)) }
        try directory.sync()
        return archives
    }

    /// Removes claims and temporary files of killed programs.
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

extension SessionDirectory {
    /// Whether all stream files of the archives still exist.
    fileprivate func hasFiles(of made: ArchiveRecord) -> Bool { made.files.allSatisfy { isFile($0.name) } }
}
