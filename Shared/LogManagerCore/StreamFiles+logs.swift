import Files
package import Messages
import Recording

/// Rules for writing logs, and lists of files.
extension StreamFiles {
    /// Bytes of the entries in a reply, at most. A client accepts 32 MiB.
    private static let listBytes = 8_000_000
    /// Bytes of an entry without its names and its receipt, at most.
    private static let entryBytes = 256

    /// Adds a rule for a log or a pattern.
    package func add(_ request: LogsAdd, at now: Moment) -> Answer<LogConfiguration> {
        answering { () throws(RequestError) in
            let pattern = try Self.pattern(request.name)
            if catalog.rules[pattern] != nil {
                throw RequestError(
                    .alreadyExists,
                    "'\(request.name)' was added already; change it with logs.set, or remove it first")
            }
            return (
                pattern,
                try changed(
                    defaults(for: request.name), request.format, request.maximumFileSize, request.maximumFileAge)
            )
        }
    }

    /// Changes the rule of a log that was added or has files, or the rule of a pattern.
    package func set(_ request: LogsSet, at now: Moment) -> Answer<LogConfiguration> {
        answering { () throws(RequestError) in
            let pattern = try Self.pattern(request.name)
            return (
                pattern,
                try changed(
                    try known(pattern), request.format, request.maximumFileSize, request.maximumFileAge)
            )
        }
    }

    private func answering(
        _ body: () throws(RequestError) -> (LogPattern, LogConfiguration)
    ) -> Answer<LogConfiguration> {
        let answer = Answer<LogConfiguration>()
        do throws(RequestError) {
            let (pattern, configuration) = try body()
            change(.setRule(configuration, pattern), for: .rule(configuration, answer))
        } catch {
            answer.refuse(error)
        }
        return answer
    }

    private func changed(
        _ configuration: LogConfiguration, _ format: String?, _ size: Int?, _ age: Double?
    ) throws(RequestError) -> LogConfiguration {
        var configuration = configuration
        configuration.format = format ?? configuration.format
        configuration.maximumFileSize = size ?? configuration.maximumFileSize
        configuration.maximumFileAge = age ?? configuration.maximumFileAge
        if let format, LogFormat(rawValue: format) == nil {
            throw RequestError(.invalidParameter, "there is no format '\(format)'; write one of \(LogFormat.words)")
        }
        let age = configuration.maximumFileAge
        guard configuration.maximumFileSize >= 0, age == 0 || (age >= 1 && age < 1e9) else {
            throw RequestError(
                .invalidParameter,
                "maximumFileSize \(configuration.maximumFileSize) or maximumFileAge \(age) makes no sense; write bytes and "
                    + "seconds, 1 or more, or 0 for no limit")
        }
        return configuration
    }

    /// The configuration of a log that no rule matches.
    private func defaults(for name: String) -> LogConfiguration {
        LogConfiguration(
            name: name, maximumFileSize: settings.maximumFileSize, maximumFileAge: settings.maximumFileAge)
    }

    package func configuration(_ request: LogsGet) throws(RequestError) -> LogConfiguration {
        let pattern = try Self.pattern(request.name)
        if request.orDefaults == true, let log = pattern.log {
            return catalog.rules.configuration(of: log) ?? defaults(for: log.text)
        }
        return try known(pattern)
    }

    /// The configuration of a log or a pattern that is known: it has a rule, or the log has files.
    func known(_ pattern: LogPattern) throws(RequestError) -> LogConfiguration {
        if let own = catalog.rules[pattern] { return own }
        if let log = pattern.log {
            if let configuration = catalog.rules.configuration(of: log) { return configuration }
            if hasFiles(log) { return defaults(for: log.text) }
        }
        throw RequestError(
            .unknownLog, "there is no log '\(pattern)'; logs.names lists those that were added or have files")
    }

    private func hasFiles(_ log: LogName) -> Bool { catalog.usage.logs[log] != nil || currentLogs.contains(log) }

    /// The logs that were added or have files, and the patterns that were added.
    package var names: LogsNames.Reply {
        let names = Set(catalog.rules.logNames).union(catalog.usage.logs.keys.map(\.text))
            .union(currentLogs.map(\.text))
        let patterns = catalog.rules.patternNames
        return LogsNames.Reply(names: names.sorted(), patterns: patterns.isEmpty ? nil : patterns)
    }

    /// Finished files, oldest first.
    package func files(
        of name: String?, isUploaded: Bool?, after: String?, limit: Int?, at now: Moment
    ) throws(RequestError) -> LogFileList {
        let limit = limit ?? LogsList.maximumLimit
        guard (1...LogsList.maximumLimit).contains(limit) else {
            throw RequestError(.invalidParameter, "limit is \(limit): write 1 to \(LogsList.maximumLimit)")
        }
        var log: LogName?
        if let name { log = try Self.log(name) }
        do throws(RecordingError) {
            let found = try catalog.files(of: log, isPending: isUploaded.map(!), after: after, limit: limit + 1)
            let files = Self.fitting(found.prefix(limit))
            return LogFileList(files: files.map(\.entry), more: files.count < found.count ? true : nil)
        } catch {
            throw refusal(of: error, at: now)
        }
    }

    /// As many of the first files as fit into a reply; at least one.
    private static func fitting(_ files: ArraySlice<CatalogFile>) -> ArraySlice<CatalogFile> {
        var bytes = 0
        // Many files in a row have the same receipt.
        var last: (receipt: JSONValue, bytes: Int)?
        for (count, file) in files.enumerated() {
            // An entry has the names of log and session twice.
            bytes += entryBytes + 2 * file.path.utf8.count
            if let receipt = file.receipt {
                if receipt != last?.receipt { last = (receipt, (try? WireCoding.encode(receipt).count) ?? 0) }
                bytes += last?.bytes ?? 0
            }
            if bytes > listBytes, count > 0 { return files.prefix(count) }
        }
        return files
    }

    static func pattern(_ name: String) throws(RequestError) -> LogPattern {
        guard let pattern = LogPattern(name) else {
            // Every valid log name is a valid pattern, so the refusal is that of a name.
            _ = try log(name)
            throw RequestError(.invalidParameter, "'\(name)' can't be a log's name or a pattern of names")
        }
        return pattern
    }

    static func log(_ name: String) throws(RequestError) -> LogName {
        guard let log = LogName(existing: name) else {
            throw RequestError(
                .invalidParameter,
                "'\(name)' can't be a log's name: use letters, digits, - and _, as in the names of its files, "
                    + "such as left-wrist_accelerometer")
        }
        return log
    }
}
