import Files
import Messages
import Recording
import ServiceKit
import ZeroMQ

/// What is asked.
extension LogEngine {
    // MARK: Logs

    func add(_ request: LogsAdd) throws -> LogConfiguration {
        var configuration = LogConfiguration(name: try Self.log(request.name).text, format: request.format)
        configuration.maximumFileSize = request.maximumFileSize ?? configuration.maximumFileSize
        configuration.maximumFileAge = request.maximumFileAge ?? configuration.maximumFileAge
        if let format = request.format, LogFormat(rawValue: format) == nil {
            throw RequestError(.invalidParameter, "there is no format '\(format)'; write json, csv or tsv")
        }
        let age = configuration.maximumFileAge
        guard configuration.maximumFileSize >= 0, age == 0 || (age >= 1 && age < 1e9) else {
            throw RequestError(
                .invalidParameter,
                "maximumFileSize \(configuration.maximumFileSize) or maximumFileAge \(age) makes no sense; write bytes and "
                    + "seconds, 1 or more, or 0 for no limit")
        }
        guard try catalog.add(configuration) else {
            throw RequestError(
                .alreadyExists, "there is a log '\(request.name)' already; remove it first, or choose another name")
        }
        return configuration
    }

    func names() -> LogsNames.Reply { LogsNames.Reply(names: catalog.logNames.map(\.text)) }

    func configuration(_ request: LogsGet) throws -> LogConfiguration {
        guard let configuration = catalog.configuration(of: try Self.log(request.name)) else {
            throw Self.unknown(request.name)
        }
        return configuration
    }

    func remove(_ request: LogsRemove) async throws -> LogsRemove.Reply {
        let log = try Self.log(request.name)
        guard catalog.configuration(of: log) != nil else { throw Self.unknown(request.name) }
        let usage = catalog.usage.logs[log] ?? LogUsage()
        if usage.files > 0, request.deleteFiles != true {
            throw RequestError(
                .wouldDelete,
                "removing log '\(log)' would delete \(usage.files) files of \(usage.bytes) bytes, "
                    + "\(usage.pendingFiles) of them not uploaded; say \"deleteFiles\": true if they may go")
        }
        var removed: [String] = []
        if usage.files > 0 {
            removed = try await exclusively {
                let deadline = MonotonicClock.now + Self.requestLimit.nanoseconds
                let removed = try await self.removeAll(
                    isUploaded: [true, false], log: log, reason: .logRemoved, until: deadline)
                try Self.checkTime(deadline, removed: removed.count)
                return removed
            }
        }
        try catalog.remove(log)
        return LogsRemove.Reply(name: log.text, removed: removed)
    }

    private static func log(_ name: String) throws(RequestError) -> LogName {
        guard let log = LogName(existing: name) else {
            throw RequestError(
                .invalidParameter,
                "'\(name)' can't be a log's name: write it as its files are named, letters, digits, - and _, "
                    + "left-wrist_accelerometer say")
        }
        return log
    }

    private static func unknown(_ name: String) -> RequestError {
        RequestError(.unknownLog, "there is no log '\(name)'; logs.names has those that were added")
    }

    // MARK: Files

    /// Finished files, oldest first.
    func files(of name: String?, pendingOnly: Bool, after: String?, limit: Int?) throws -> LogFileList {
        let limit = limit ?? LogsList.maximumLimit
        guard (1...LogsList.maximumLimit).contains(limit) else {
            throw RequestError(.invalidParameter, "limit is \(limit): write 1 to \(LogsList.maximumLimit)")
        }
        let log = try name.map { try Self.log($0) }
        var files = try catalog.files(of: log, isPending: pendingOnly ? true : nil, after: after, limit: limit + 1)
        let more = files.count > limit
        if more { files.removeLast() }
        return LogFileList(files: files.map(\.entry), more: more ? true : nil)
    }

    /// How many files are looked up at once: between pieces others have their turn.
    private static let pieceSize = 256

    func mark(_ request: LogsMarkUploaded) async throws -> LogFileOutcome {
        try await change(request.paths, .marked) { files in
            let now = WallTime.now
            return try self.usingReserve { () throws(RecordingError) in
                try self.catalog.mark(files, receipt: request.receipt, date: now)
            }
        }
    }

    func unmark(_ request: LogsUnmarkUploaded) async throws -> LogFileOutcome {
        try await change(request.paths, .unmarked) { files in
            try self.usingReserve { () throws(RecordingError) in try self.catalog.unmark(files) }
        }
    }

    private func change(
        _ paths: [String], _ change: LogFileEvent.Change, _ body: ([CatalogFile]) throws -> [CatalogFile]
    ) async throws -> LogFileOutcome {
        var outcome = LogFileOutcome(done: [], refused: [])
        for piece in paths.batches(of: Self.pieceSize) {
            let (files, refused) = try look(up: piece)
            let changed = try body(files)
            if change == .marked { markedFiles += changed.count }
            for file in changed { publish(change, of: file.log.text, path: file.path, bytes: file.bytes) }
            outcome.done += changed.map(\.path)
            outcome.refused += refused
            try evaluate()
            await Task.yield()
        }
        return outcome
    }

    func removeUploaded(_ request: LogsRemoveUploaded) async throws -> LogFileOutcome {
        try await exclusively {
            var files: [CatalogFile] = []
            var refused: [LogFileOutcome.Refusal] = []
            for piece in request.paths.batches(of: Self.pieceSize) {
                let looked = try self.look(up: piece)
                files += looked.files
                refused += looked.refused
                await Task.yield()
            }
            for file in files where file.uploaded == nil {
                refused.append(
                    LogFileOutcome.Refusal(
                        path: file.path, reason: "it is not marked as uploaded; mark it with its receipt first"))
            }
            files.removeAll { $0.uploaded == nil }
            let outcome = try await self.remove(files, reason: .removeUploaded)
            return LogFileOutcome(done: outcome.done, refused: refused + outcome.refused)
        }
    }

    /// The files of paths, each once, and why others are refused. A file must be what it was when it was listed.
    private func look(up paths: ArraySlice<String>) throws -> (files: [CatalogFile], refused: [LogFileOutcome.Refusal])
    {
        var seen: Set<String> = []
        var files: [CatalogFile] = []
        var refused: [LogFileOutcome.Refusal] = []
        for path in paths where seen.insert(path).inserted {
            switch folder.look(up: path) {
            case .refused(let reason):
                refused.append(LogFileOutcome.Refusal(path: path, reason: reason))
            case .found(let identity):
                guard let file = try catalog.file(at: path) else {
                    refused.append(
                        LogFileOutcome.Refusal(path: path, reason: "it is not a finished file that log-manager knows"))
                    continue
                }
                guard file.identity == identity else {
                    refused.append(
                        LogFileOutcome.Refusal(
                            path: path, reason: "it was changed or replaced since it was finished; nothing was done"))
                    continue
                }
                files.append(file)
            }
        }
        return (files, refused)
    }

    // MARK: Usage

    func usage(_ request: LogsUsage) async throws -> LogsUsage.Reply {
        let usage = catalog.usage
        let logs = try request.logs == true ? catalog.usagePerLog() : nil
        let (currentBytes, freeBytes) = await diskReader.look(at: catalog.openSessions)
        return LogsUsage.Reply(
            pendingUploadBytes: usage.pendingBytes, totalBytes: usage.totalBytes, currentBytes: currentBytes,
            freeBytes: freeBytes ?? 0, logs: logs)
    }
}
