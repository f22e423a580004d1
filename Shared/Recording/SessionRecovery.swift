import SystemPackage

extension SessionDirectory {
    /// Whether the session was cut off before its last file was written, or is being recorded.
    ///
    /// Costs one look at the directory.
    package func needsRecovery() -> Bool {
        !directory.contains(Self.checksumsName)
    }

    /// Repairs what a session that was cut off has left, and makes it ready to go on.
    ///
    /// Each log is cut after its last whole record, files that were finished and not listed are adopted, and how far
    /// each epoch came is known exactly. Takes time in proportion to what was not committed, not to what was recorded.
    /// Neither `session.json` nor anything that is whole is changed; so it may itself be cut off anywhere, and done again.
    ///
    /// Works also for sessions that are over, whose last files are missing.
    ///
    /// - Throws: `notFound` or `unreadable` for a `session.json` that is missing or damaged; `noSpace`, `notPermitted`
    ///   or `inputOutput`.
    package func recover(calls: FileCalls = .system) throws(RecordingError) -> RecoveredSession {
        var record = try record()
        let contents = try removeStrays(of: record, try journalContents(), calls: calls)
        let lines = JournalEntry.valid(in: contents?.entries ?? [])
        let names = try directory.names()
        let there = Set(names)
        let gone = try RemovedFile.read(in: directory).filter { !there.contains($0.name) }
        let removed = Dictionary(gone.map { ($0.name, $0) }) { _, last in last }
        var logs: [LogName: RecoveredLog] = [:]
        var corrections: [JournalEntry] = []
        for index in record.logs.indices {
            let name = record.logs[index].name
            var recovery = LogRecovery(
                record.logs[index], of: record, in: directory, lines: lines[name] ?? [], calls: calls)
            let greatest = contents?.entries.filter { $0.log == name }.map(\.index).max()
            logs[name] = try recovery.recover(
                names: names, removed: removed, nextIndex: (greatest ?? -1) + 1)
            record.logs[index] = recovery.log
            if let correction = recovery.correction { corrections.append(correction) }
        }
        let journal =
            if let contents {
                try Journal(reopeningIn: directory, contents: contents, calls: calls)
            } else {
                try Journal(creatingIn: directory, calls: calls)
            }
        if !corrections.isEmpty {
            try journal.append(corrections)
            try journal.sync()
        }
        // What was being written beside a file, to be put in its place.
        for name in names where name.hasPrefix(".") && name.hasSuffix(".new") {
            try Directory.removeFile(directory.path.appending(name))
        }
        try directory.sync(calls: calls)
        return RecoveredSession(record: record, journal: journal, logs: logs)
    }

    /// What the journal says; `nil` if there is none.
    private func journalContents() throws(RecordingError) -> Journal.Contents? {
        do {
            return try Journal.read(in: directory)
        } catch {
            if error.code == .notFound { return nil }
            throw error
        }
    }

    /// The names of files that look like a log's, and belong to none that `session.json` has.
    func strayNames(of record: SessionRecord) throws(RecordingError) -> [String] {
        let formats = record.isFormatDefault == true ? LogFormat.allCases : [record.format]
        return try directory.names().filter { name in
            let isLog = formats.contains { format in
                let ending = ".\(format.fileExtension)"
                return name.hasSuffix(ending) && LogName(existing: String(name.dropLast(ending.count))) != nil
            }
            return isLog && !record.logs.contains { $0.name.fileName(record.format(of: $0)) == name }
                && !record.logs.contains { FinishedName(name, of: $0.name) != nil }
        }.sorted()
    }

    /// Removes files of logs that were begun, and of which nothing was stored when the session was cut off: they were
    /// never durable, and their samples are asked for when their stream is met again. The journal forgets them too.
    ///
    /// A log that was committed stays: it must have been in `session.json`.
    /// - Returns: what the journal says then.
    private func removeStrays(
        of record: SessionRecord, _ contents: Journal.Contents?, calls: FileCalls
    ) throws(RecordingError) -> Journal.Contents? {
        if record.status.isOver { return contents }
        let entries = contents?.entries ?? []
        let committed = Set(entries.filter { $0.kind == .commit }.map(\.log))
        for name in try strayNames(of: record)
        where !committed.contains(where: { log in
            LogFormat.allCases.contains { log.fileName($0) == name } || FinishedName(name, of: log) != nil
        }) {
            try Directory.removeFile(directory.path.appending(name))
        }
        let known = entries.filter { entry in
            committed.contains(entry.log) || record.logs.contains { $0.name == entry.log }
        }
        if known.count == entries.count { return contents }
        // A log of the same name counts its lines anew.
        let lines = known.flatMap { StoredJSON.line($0) + [UInt8(ascii: "\n")] }
        try directory.replace(Journal.fileName, with: lines, calls: calls)
        return Journal.Contents(entries: known, validBytes: lines.count)
    }
}
