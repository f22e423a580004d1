package import Files
import Messages
import SystemPackage

/// Repairs interrupted sessions so that they can be resumed.
package struct SessionRecovery {
    package private(set) var outcomes: [SessionIdentifier: Result<RecoveredSession, RecordingError>] = [:]
    /// The files of the recovered sessions, ready to be continued.
    package private(set) var files: [SessionIdentifier: [LogName: StreamFile]] = [:]
    /// Why a part of the write-ahead log can't be read; nil if all of it can.
    package private(set) var damage: LogReader.Damage?
    /// The log's identifier; nil if there is none.
    package private(set) var log: String?
    /// The end of the log's data.
    package private(set) var logEnd = 0
    /// The position before which all of the log's data is durable.
    package private(set) var logSynced = 0

    /// Recovers sessions, in one pass over the write-ahead log. The time depends on the length of the log, not on that of the
    /// recordings.
    ///
    /// A session in the log gets exactly the data that was committed. For any other session, or if the log is damaged, the files
    /// alone determine how far the session came: each is cut after its last whole record. If the log's beginning is missing, the
    /// log is damaged for the sessions that need it.
    ///
    /// - Parameter isContinuedElsewhere: whether another log may have what follows the end of this one.
    /// - Throws: errors of reading the log; an error that concerns one session is that session's outcome.
    package init(
        of directories: [SessionDirectory], log logDirectory: Directory?, isContinuedElsewhere: Bool = false,
        calls: FileCalls = .system
    ) throws(RecordingError) {
        var reader = logDirectory.map { LogReader($0) }
        var records: [(directory: SessionDirectory, record: SessionRecord)] = []
        var redos: [SessionIdentifier: SessionRedo] = [:]
        if let logDirectory { log = try LogReader.identifier(in: logDirectory) }
        for directory in directories {
            do throws(RecordingError) {
                let record = try directory.record()
                records.append((directory, record))
                // Without the log, samples that the session's files lack are replayed, and become a gap only if no publisher has
                // them.
                guard let position = record.logPosition, position.log == log else { continue }
                redos[directory.session] = try SessionRedo(record, position, in: directory, calls: calls)
            } catch {
                outcomes[directory.session] = .failure(error)
            }
        }
        var names: [UInt32: (redo: SessionRedo, log: LogName?)] = [:]
        // The positions in `session.json` were durable in the log first.
        let known = redos.values.map(\.position.recorded).max() ?? 0
        let missing = try reader?.missingBeginnings(from: redos.mapValues(\.position.written)) ?? [:]
        // An old `session.json`, of a backup for example, must not keep the other sessions from the log.
        for session in missing.keys { redos[session] = nil }
        damage = records.lazy.compactMap { missing[$0.directory.session] }.first
        // If no session needs the log, its last segment still shows where the log ends.
        let needed = redos.values.map(\.position.written).min() ?? .max
        try reader?.forEachFrame(from: needed, knownUpTo: known) { frame in
            switch frame.kind {
            // Numbers are valid in one segment.
            case .log: names = [:]
            case .name:
                names[frame.number] = frame.name.flatMap { name in redos[name.session].map { ($0, name.log) } }
            default:
                if let (redo, log) = names[frame.number] { redo.apply(frame, of: log) }
            }
        }
        for redo in redos.values where redo.isAheadOfLog() { try reader?.noteMissingEnd() }
        let logDamage = reader?.damage
        if let logDamage { damage = logDamage }
        logEnd = reader?.end ?? 0
        logSynced = reader?.synced ?? 0
        for (directory, record) in records where outcomes[directory.session] == nil {
            do throws(RecordingError) {
                var (recovered, files) = try Self.recover(
                    directory, record, redos[directory.session], isWhole: logDamage == nil, calls: calls)
                // The recorder's own log does not know the places of these files.
                if isContinuedElsewhere { recovered.isFromLog = false }
                recovered.listedFiles = record.logs.reduce(into: [:]) { $0[$1.name] = $1.files.count }
                try directory.removeEmptyFiles(of: recovered.record)
                // If the log is unreadable, it may have been this session's.
                if let damage = missing[directory.session] ?? logDamage, !(damage.isEnd && isContinuedElsewhere),
                    let position = record.logPosition, log == nil || position.log == log
                {
                    recovered.record.note(failures: ["\(damage)"])
                }
                outcomes[directory.session] = .success(recovered)
                self.files[directory.session] = files
            } catch {
                outcomes[directory.session] = .failure(error)
            }
        }
    }

    /// Recovers a session with its part of the log, if the log was whole and fits the session's files.
    private static func recover(
        _ directory: SessionDirectory, _ record: SessionRecord, _ redo: SessionRedo?, isWhole: Bool, calls: FileCalls
    ) throws(RecordingError) -> (session: RecoveredSession, files: [LogName: StreamFile]) {
        guard let redo else { return try directory.recoverFromFiles(record, calls: calls) }
        var recovered = try redo.finish(cutting: isWhole)
        let discontinuity = redo.discontinuity
        if isWhole, discontinuity == nil { return recovered }
        recovered = try directory.recoverFromFiles(recovered.session.record, calls: calls)
        if let discontinuity { recovered.session.record.note(failures: ["\(discontinuity)"]) }
        return recovered
    }
}

extension SessionDirectory {
    /// Repairs an interrupted session from its files and `session.json` alone.
    ///
    /// Each log is cut after its last whole record, and files that were finished and not listed are adopted. Neither
    /// `session.json` nor anything whole is changed, so the repair may itself be interrupted anywhere and repeated.
    ///
    /// Also works for sessions that are over and whose last files are missing.
    func recoverFromFiles(
        _ record: SessionRecord, calls: FileCalls
    ) throws(RecordingError) -> (session: RecoveredSession, files: [LogName: StreamFile]) {
        var session = RecoveredSession(record: record, isFromLog: false)
        if record.logPosition != nil, !hasChecksums {
            session.record.logs += try record.unlistedLogs(in: directory).logs
        }
        let record = session.record
        let entries = record.logPosition == nil ? try JournalEntry.read(in: directory) : []
        try removeStrays(of: record, entries)
        let lines = JournalEntry.valid(in: entries)
        let names = Set(try directory.names())
        let removed = try removedFiles()
        // If a session failed, files may have been removed that it never listed.
        let finished = FinishedName.byLog(names.union(removed.keys))
        var files: [LogName: StreamFile] = [:]
        for (index, log) in record.logs.enumerated() {
            var recovery = LogRecovery(log, of: record, in: directory, lines: lines[log.name] ?? [], calls: calls)
            let file = try recovery.recover(
                names: names, finished: finished[log.name] ?? [], removed: removed)
            session.logs[log.name] = RecoveredLog(file: file.extent, positions: recovery.positions)
            session.record.logs[index] = recovery.log
            files[log.name] = file
        }
        // Files that were being written to replace others.
        for name in names where Directory.finalName(ofTemporary: name) != nil {
            try Directory.removeFile(directory.path.appending(name))
        }
        try directory.sync(calls: calls)
        return (session, files)
    }

    /// Removes files without samples, of logs that neither the write-ahead log nor `session.json` mentions.
    fileprivate func removeEmptyFiles(of record: SessionRecord) throws(RecordingError) {
        if hasChecksums || record.logPosition == nil { return }
        for name in try record.unlistedLogs(in: directory).empty {
            try Directory.removeFile(directory.path.appending(name))
        }
    }

    /// Removes files of logs that version 0.6 or earlier began, and of which nothing was stored when the session was interrupted:
    /// they were never durable, and their samples are replayed when their stream is met again.
    ///
    /// A committed log stays: it must have been in `session.json`.
    private func removeStrays(of record: SessionRecord, _ entries: [JournalEntry]) throws(RecordingError) {
        if record.status.isOver || record.logPosition != nil { return }
        let committed = Set(entries.filter { $0.kind == .commit }.map(\.log))
        let names = try directory.names()
        for name in record.strays(among: names, FinishedName.byLog(names)) {
            let isCommitted = committed.contains { log in
                LogFormat.known.contains { log.fileName($0) == name } || FinishedName(name, of: log) != nil
            }
            if !isCommitted { try Directory.removeFile(directory.path.appending(name)) }
        }
    }
}

extension SessionRecord {
    /// The names of files that look like a log's, but belong to none of the session's logs.
    func strays(among names: [String], _ finished: [LogName: [FinishedName]]) -> [String] {
        let formats = isFormatDefault == true ? LogFormat.known : [format]
        let known = Set(
            logs.flatMap { log in
                [log.name.fileName(format(of: log))] + (finished[log.name] ?? []).map(\.description)
            })
        return names.filter { name in
            !known.contains(name) && LogName.mayBeStream(name)
                && formats.contains { LogName(ofFile: name, $0) != nil }
        }.sorted()
    }
}
