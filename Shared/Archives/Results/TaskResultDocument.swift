import Hashing
import Files
import Messages
import Recording

/// The contents of `taskResult.json`: what was given as the task's result, with what the recorder knows of the run.
struct TaskResultDocument {
    /// The task's or the section's name; never empty.
    let identifier: String
    let taskRunUUID: String
    /// All of it, or, where log files are added, what they are added to.
    private let shell: JSONValue
    /// The asynchronous results, log files behind those that were given; `nil` if there are no log files.
    private let results: AnySequence<JSONValue>?

    init(_ plan: ArchivePlan, _ contents: SessionContents) {
        let record = contents.record
        // What was answered goes before what was said at the start.
        var fields = record.otherKeys.merging(plan.results?.json ?? [:]) { _, answered in answered }
        var identifier = plan.section ?? record.task
        if identifier.isEmpty, case .string(let given) = fields["identifier"] { identifier = given }
        self.identifier = identifier.isEmpty ? "Unknown" : identifier
        taskRunUUID = plan.results?.taskRunUUID ?? Self.identifier(of: record)
        let end = record.endDate ?? record.startDate
        fields["identifier"] = .string(self.identifier)
        fields["type"] = .string("task")
        fields["taskRunUUID"] = .string(taskRunUUID)
        if fields["startDate"] == nil { fields["startDate"] = .string(record.startDate.utcText) }
        if fields["endDate"] == nil { fields["endDate"] = .string(end.utcText) }
        if plan.section == nil {
            let steps = Self.steps(of: record, until: end)
            if fields["stepHistory"] == nil { fields["stepHistory"] = .array(steps.map(\.json)) }
            if fields["nodePath"] == nil { fields["nodePath"] = .array(steps.map { .string($0.identifier) }) }
            var given: [JSONValue] = []
            if case .array(let results) = fields["asyncResults"] { given = results }
            fields["asyncResults"] = .array([])
            let asyncResults = given
            let files = Self.files(of: plan, record, until: end)
            results = AnySequence {
                var (first, rest) = (asyncResults.makeIterator(), files.makeIterator())
                return AnyIterator { first.next() ?? rest.next() }
            }
        } else {
            results = nil
        }
        shell = .object(fields)
    }

    /// Its bytes, in pieces.
    var pieces: AnySequence<[UInt8]> {
        guard let results else { return AnySequence(CollectionOfOne(StoredJSON.document(shell))) }
        return AnySequence(StoredDocument(shell, list: "asyncResults", results))
    }

    /// A UUID for a run that nobody named: the session's name where it is one, else always the same for the same session
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

    /// The steps that the session went through.
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

    /// The log files, as results; there may be very many.
    private static func files(
        of plan: ArchivePlan, _ record: SessionRecord, until end: WallTime
    ) -> some Sequence<JSONValue> {
        let uptimes = Dictionary(record.logs.map { ($0.name, $0.firstUptime) }) { first, _ in first }
        return plan.items.lazy.compactMap { item in
            guard let log = item.log else { return nil }
            var fields: [String: JSONValue] = [
                "identifier": .string(log.text), "type": .string("file"),
                "startDate": .string(item.timestamp.utcText), "endDate": .string(end.utcText),
                "relativePath": .string(item.name), "contentType": .string(item.contentType),
            ]
            if let uptime = uptimes[log] ?? nil { fields["startUptime"] = .number(uptime) }
            return .object(fields)
        }
    }
}
