package import Files
import Hashing
package import Messages
import SystemPackage

/// The contents of `taskResult.json`: the given result of the task, and the recorder's data about the run.
package struct TaskResultDocument {
    /// A stream file that belongs to the result.
    package struct File {
        package var log: LogName
        package var name: String
        package var contentType: String
        /// When the file was begun.
        package var startDate: WallTime

        package init(log: LogName, name: String, contentType: String, startDate: WallTime) {
            self.log = log
            self.name = name
            self.contentType = contentType
            self.startDate = startDate
        }
    }

    /// The task's or the section's name; never empty.
    package let identifier: String
    package let taskRunUUID: String
    /// The whole document in a section; otherwise the document with empty `asyncResults`.
    private let shell: JSONValue
    /// The asynchronous results: the given ones, those found later, and the stream files; `nil` in a section.
    private let results: AnySequence<JSONValue>?

    /// - Parameters:
    ///   - section: the section of the result; `nil` for the task itself.
    ///   - found: asynchronous results that were found later; only for the task itself.
    ///   - files: the session's stream files, only for the task itself; there may be very many.
    package init(
        _ record: SessionRecord, results given: TaskResults?, section: String? = nil, found: [JSONValue] = [],
        files: some Sequence<File>
    ) {
        // Keys of the results take precedence over keys given at the start.
        var fields = record.otherKeys.merging(given?.json ?? [:]) { _, answered in answered }
        var identifier = section ?? record.task
        if identifier.isEmpty, case .string(let given) = fields["identifier"] { identifier = given }
        self.identifier = identifier.isEmpty ? "Unknown" : identifier
        taskRunUUID = given?.taskRunUUID ?? Self.identifier(of: record)
        let end = record.endDate ?? record.startDate
        fields["identifier"] = .string(self.identifier)
        fields["type"] = .string("task")
        fields["taskRunUUID"] = .string(taskRunUUID)
        if fields["startDate"] == nil { fields["startDate"] = .string(record.startDate.utcText) }
        if fields["endDate"] == nil { fields["endDate"] = .string(end.utcText) }
        if section == nil {
            let steps = Self.steps(of: record, until: end)
            if fields["stepHistory"] == nil { fields["stepHistory"] = .array(steps.map(\.json)) }
            if fields["nodePath"] == nil { fields["nodePath"] = .array(steps.map { .string($0.identifier) }) }
            var asyncResults: [JSONValue] = []
            if case .array(let results) = fields["asyncResults"] { asyncResults = results }
            fields["asyncResults"] = .array([])
            asyncResults += found
            let uptimes = Dictionary(record.logs.map { ($0.name, $0.firstUptime) }) { first, _ in first }
            let (all, files) = (asyncResults, files.lazy.map { $0.json(uptime: uptimes[$0.log] ?? nil, until: end) })
            results = AnySequence {
                var (first, rest) = (all.makeIterator(), files.makeIterator())
                return AnyIterator { first.next() ?? rest.next() }
            }
        } else {
            results = nil
        }
        shell = .object(fields)
    }

    /// The whole document, as one value.
    package var json: JSONValue {
        guard let results, case .object(var fields) = shell else { return shell }
        fields["asyncResults"] = .array(Array(results))
        return .object(fields)
    }

    /// The document's bytes, in pieces.
    package var pieces: AnySequence<[UInt8]> {
        guard let results else { return AnySequence(CollectionOfOne(StoredJSON.document(shell))) }
        return AnySequence(StoredDocument(shell, list: "asyncResults", results))
    }

    /// A UUID for a run without one: the session's name if that is a UUID, otherwise always the same for the same session
    /// (version 8 of RFC 9562, from a SHA-256).
    private static func identifier(of record: SessionRecord) -> String {
        let name = record.session.text.uppercased()
        let groups = name.split(separator: "-", omittingEmptySubsequences: false)
        if groups.map(\.utf8.count) == [8, 4, 4, 4, 12], groups.joined().allSatisfy(\.isHexDigit) { return name }
        var bytes = Array(SHA256.hash(data: Array("\(record.session) \(record.startDate.utcText)".utf8)).prefix(16))
        bytes[6] = bytes[6] & 0x0F | 0x80
        bytes[8] = bytes[8] & 0x3F | 0x80
        var text = ""
        for (index, byte) in bytes.enumerated() {
            if [4, 6, 8, 10].contains(index) { text += "-" }
            text += (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
        }
        return text
    }

    /// The steps of the session, in order.
    private static func steps(of record: SessionRecord, until end: WallTime) -> [(identifier: String, json: JSONValue)]
    {
        var steps = record.step.isEmpty ? [] : [(record.step, record.startDate)]
        steps += record.steps.filter { !$0.step.isEmpty }.map { ($0.step, $0.date) }
        return steps.enumerated().map { index, step in
            let next = index + 1 < steps.count ? steps[index + 1].1 : end
            return (
                step.0,
                .object([
                    "identifier": .string(step.0), "type": .string("base"), "startDate": .string(step.1.utcText),
                    "endDate": .string(next.utcText),
                ])
            )
        }
    }
}

extension TaskResultDocument.File {
    fileprivate func json(uptime: Double?, until end: WallTime) -> JSONValue {
        var fields: [String: JSONValue] = [
            "identifier": .string(log.text), "type": .string("file"), "startDate": .string(startDate.utcText),
            "endDate": .string(end.utcText), "relativePath": .string(name), "contentType": .string(contentType),
        ]
        if let uptime { fields["startUptime"] = .number(uptime) }
        return .object(fields)
    }
}

extension SessionDirectory {
    /// The contents of `taskResult.json` in an archive of this session, even before there is an archive.
    /// - Throws: `unreadable` if a stream file can't be read.
    package func taskResult(of record: SessionRecord) throws(RecordingError) -> JSONValue {
        var files: [TaskResultDocument.File] = []
        for log in record.logs {
            for file in log.files where directory.contains(file.name) {
                var scanner = try LogScanner(
                    directory.path.appending(file.name), format: record.format(of: log), root: record.root)
                let first = try scanner.next().map { _ in scanner.record.date } ?? nil
                files.append(
                    TaskResultDocument.File(
                        log: log.name, name: file.name, contentType: ContentType.of(file.name),
                        startDate: first ?? record.startDate))
            }
        }
        let results = record.results.flatMap { try? TaskResults($0) }
        return TaskResultDocument(record, results: results, files: files).json
    }
}
