import Encryption
import Files
import Messages
import Recording
import ServiceKit
import SessionOverview
import SystemPackage

/// Writes one archive of a session: the session's files in order, then the generated files, with the manifest last.
struct ArchiveWriter {
    private let plan: ArchivePlan
    private let contents: SessionContents
    private let choices: ArchiveChoices
    private let zip: ZipWriter
    private var metadata: ArchiveMetadata
    /// The highest number of an annotation in the archived files; 0 if there is none.
    private(set) var lastAnnotation = 0

    /// - Parameter found: computed results of the task, such as step counts.
    init(
        _ plan: ArchivePlan, _ contents: SessionContents, _ choices: ArchiveChoices, found: [JSONValue],
        into sink: any ByteSink
    ) {
        self.plan = plan
        self.contents = contents
        self.choices = choices
        zip = ZipWriter(to: sink)
        let record = contents.record
        let files = plan.items.lazy.compactMap { item in
            item.log.map { log in
                TaskResultDocument.File(
                    log: log, name: item.name, contentType: item.contentType, startDate: item.timestamp)
            }
        }
        let result = TaskResultDocument(
            record, results: plan.results, section: plan.section, found: found, files: files)
        let devices = Set(record.logs.map(\.device)).sorted().joined(separator: ", ")
        metadata = ArchiveMetadata(
            deviceInfo: devices.isEmpty ? "Unknown" : devices, appVersion: "version \(Version.current)",
            rsdFrameworkVersion: "version \(Version.current)", taskIdentifier: result.identifier,
            taskRunUUID: result.taskRunUUID, startDate: record.startDate, endDate: record.endDate ?? record.startDate,
            schemaIdentifier: plan.results?.schemaIdentifier, schemaRevision: plan.results?.schemaRevision,
            session: record.session.text, status: record.status.rawValue, keys: record.keys,
            files: [], leftOut: nil)
        metadata.files.reserveCapacity(plan.items.count + 4)
        taskResult = result
    }

    private let taskResult: TaskResultDocument

    /// Writes everything. Does not close the sink.
    mutating func write(_ session: SessionDirectory) throws(ArchiveError) -> ArchiveMetadata {
        var leftOut = plan.leftOut
        for item in plan.items {
            if let reason = try add(item, of: session) {
                leftOut.append(ArchiveMetadata.LeftOut(filename: item.file, reason: reason))
            }
        }
        metadata.leftOut = leftOut.isEmpty ? nil : leftOut.sorted { $0.filename < $1.filename }
        if choices.inserts.contains(.answers), let results = plan.results { try addAnswers(results) }
        if choices.inserts.contains(.taskResult) { try add(GeneratedFile.taskResult.fileName, taskResult.pieces) }
        if choices.hasReportPage, plan.section == nil { try addReportPage(session) }
        if choices.hasBridgeInfo { try add(BridgeInfo.fileName, BridgeInfo(metadata)) }
        if choices.inserts.contains(.metadata) {
            let document = StoredDocument(metadata, list: "files", \.files)
            try zip.add(GeneratedFile.metadata.fileName, date: metadata.endDate, from: GeneratedSource(document))
        }
        try zip.finish()
        return metadata
    }

    /// Adds a file of the session.
    /// - Returns: why the file was left out, if that is not a failure or failures are ignored; otherwise nil.
    private mutating func add(_ item: ArchivePlan.Item, of session: SessionDirectory) throws(ArchiveError) -> String? {
        let file: SessionFile
        do throws(ArchiveError) {
            file = try SessionFile(
                session.directory.path.appending(item.file),
                keepingBytes: item.file == SessionDirectory.annotationsName)
        } catch {
            // log-manager may have just removed the file. It notes a removal beforehand.
            if error.code == .notFound, isRemoved(item.file, from: session) { return "removed" }
            if choices.continuesOnFailure { return error.code.rawValue }
            throw error
        }
        try zip.add(item.name, date: item.timestamp, from: file)
        let sha256 = try file.conclude()
        if let expected = item.sha256, expected != sha256 {
            throw ArchiveError(
                .changed,
                "\(item.file) of session \(contents.record.session) is not what was recorded: its SHA-256 differs. "
                    + "`recorder verify` shows more; --continue-on-failure leaves it out.", file: item.file)
        }
        let annotations =
            item.file == SessionDirectory.recordName
            ? contents.record.annotations ?? [] : SessionDirectory.annotations(in: file.bytes)
        lastAnnotation = annotations.reduce(lastAnnotation) { max($0, $1.number) }
        metadata.files.append(
            ArchiveMetadata.File(
                filename: item.name, timestamp: item.timestamp, contentType: item.contentType,
                identifier: item.identifier, stepPath: item.stepPath, bytes: file.count, sha256: item.sha256 ?? sha256,
                samples: item.samples, gaps: item.gaps, fields: item.fields, origin: item.origin,
                filled: item.filled,
                originalName: item.name == item.file ? nil : item.file))
        return nil
    }

    private func isRemoved(_ file: String, from session: SessionDirectory) -> Bool {
        ((try? RemovedFile.read(in: session.directory)) ?? []).contains { $0.name == file }
    }

    private mutating func addAnswers(_ results: TaskResults) throws(ArchiveError) {
        let answers = ArchiveAnswers(results, isSeparate: choices.separateSections.contains)
        if answers.answers.isEmpty { return }
        guard choices.hasBridgeInfo else { return try add(GeneratedFile.answers.fileName, answers.json) }
        let bridged = BridgeAnswers(answers)
        try add(GeneratedFile.answers.fileName, bridged.json)
        try add(BridgeInfo.answersSchemaName, bridged.schema)
    }

    private mutating func addReportPage(_ session: SessionDirectory) throws(ArchiveError) {
        let page: String
        do throws(RecordingError) {
            page = try SessionPage.html(of: session)
        } catch {
            throw ArchiveError(error)
        }
        try add(GeneratedFile.reportPage, CollectionOfOne(Array(page.utf8)))
    }

    /// Adds a generated file.
    private mutating func add(_ name: String, _ value: some Encodable) throws(ArchiveError) {
        try add(name, CollectionOfOne(StoredJSON.document(value)))
    }

    /// Adds a generated file, in pieces.
    private mutating func add(_ name: String, _ document: some Sequence<[UInt8]>) throws(ArchiveError) {
        let source = GeneratedSource(document)
        try zip.add(name, date: metadata.endDate, from: source)
        metadata.files.append(
            ArchiveMetadata.File(
                filename: name, timestamp: metadata.endDate, contentType: ContentType.of(name), bytes: source.count,
                sha256: source.sha256))
    }
}
