import Encryption
import Messages
import Recording

/// The files of one archive of a session, with their names and metadata. Decided before any file is read.
struct ArchivePlan {
    /// A file of the session.
    struct Item: Hashable {
        var file: String
        var name: String
        var contentType: String
        var identifier: String?
        /// The file's log; nil for filled-in samples, which are not a result of the task.
        var log: LogName?
        var stepPath: String?
        var timestamp: WallTime
        var samples: Int?
        var gaps: Int?
        var fields: [ArchiveMetadata.Field]?
        var origin: DataOrigin?
        var filled: Bool?
        /// The expected SHA-256, if it was noted.
        var sha256: String?
    }

    /// The archive's section; `nil` for the task's archive.
    let section: String?
    /// The archive's name without its extension.
    let name: String
    /// The results in this archive.
    let results: TaskResults?
    let items: [Item]
    let leftOut: [ArchiveMetadata.LeftOut]

    /// The archives of a session: the task's archive, then those of sections in the order of the result.
    ///
    /// - Parameter excluded: existing files to leave out, and the reasons.
    /// - Throws: `invalidParameter` for unusable names and results, `notFound` for a missing file.
    static func plans(
        _ contents: SessionContents, _ choices: ArchiveChoices, excluding excluded: [String: String] = [:]
    ) throws(ArchiveError) -> [ArchivePlan] {
        let results = try contents.results()
        let parts = ArchiveParts(results, choices.separateSections, task: contents.record.task)
        var owner: [String: Int] = [:]
        for (index, part) in parts.parts.enumerated() {
            for file in part.files where owner[file.file.name] == nil { owner[file.file.name] = index }
        }
        let present = owner.isEmpty ? [] : Set(contents.files.map(\.name))
        let unowned = contents.missing.filter { owner[$0] == nil } + contents.others
        var plans: [ArchivePlan] = []
        for (index, part) in parts.parts.enumerated() {
            let files = contents.files.lazy.filter { owner[$0.name, default: 0] == index }
            let missing =
                part.files.map(\.file.name).filter { owner[$0] == index && !present.contains($0) }
                + (index == 0 ? unowned : [])
            plans.append(
                try ArchivePlan(
                    part, files: files, missing: missing, removed: index == 0 ? contents.removed : [], contents,
                    choices,
                    excluded))
        }
        return plans
    }

    private init(
        _ part: ArchiveParts.Part, files: some Sequence<SessionContents.File>, missing: [String], removed: [String],
        _ contents: SessionContents,
        _ choices: ArchiveChoices, _ excluded: [String: String]
    ) throws(ArchiveError) {
        section = part.section
        name = part.number.map { "\(contents.record.session)~\($0)" } ?? contents.record.session.text
        results = part.results
        var leftOut = removed.map { ArchiveMetadata.LeftOut(filename: $0, reason: "removed") }
        if part.section == nil, contents.isUnfinished { leftOut.append(.unfinished) }
        for file in missing {
            let failure = contents.failure(ofMissing: file)
            guard choices.continuesOnFailure else { throw failure }
            leftOut.append(ArchiveMetadata.LeftOut(filename: file, reason: failure.code.rawValue))
        }
        var names = ArchiveNames(reserved: GeneratedFile.names(choices))
        let described = Dictionary(part.files.map { ($0.file.name, $0) }) { first, _ in first }
        var items: [Item] = []
        for file in files {
            if let reason = excluded[file.name] {
                leftOut.append(ArchiveMetadata.LeftOut(filename: file.name, reason: reason))
                continue
            }
            let log = file.log
            let result = described[file.name]
            items.append(
                Item(
                    file: file.name, name: try names.name(for: file.name),
                    contentType: result?.file.contentType ?? ContentType.of(file.name),
                    identifier: result?.identifier ?? log?.log.text, log: log?.isFilled == true ? nil : log?.log,
                    stepPath: result?.stepPath ?? log?.stepPath,
                    timestamp: result?.file.startDate ?? log?.date ?? contents.record.startDate,
                    samples: log?.samples, gaps: log?.gaps, fields: log?.fields, origin: log?.origin,
                    filled: log?.isFilled == true ? true : nil,
                    sha256: file.sha256))
        }
        self.items = items
        self.leftOut = leftOut.sorted { $0.filename < $1.filename }
    }
}

extension SessionContents {
    /// The task's results; `nil` if there are none.
    fileprivate func results() throws(ArchiveError) -> TaskResults? {
        guard let json = record.results else { return nil }
        do throws(MessageError) {
            return try TaskResults(json)
        } catch {
            throw ArchiveError(
                .invalidParameter,
                "The results of session \(record.session) can't be archived: \(error). Correct them in "
                    + "its session.json.")
        }
    }

    fileprivate func failure(ofMissing file: String) -> ArchiveError {
        if others.contains(file) {
            return ArchiveError(
                .invalidParameter,
                "\(file) in session \(record.session) can't be archived: it is not a regular file. Move it out of the "
                    + "session's directory, or leave out what can't be archived (--continue-on-failure).", file: file)
        }
        return ArchiveError(
            .notFound,
            "\(file) of session \(record.session) is missing, and nothing says that it was removed. Bring it back, or leave "
                + "out what can't be archived (--continue-on-failure).", file: file)
    }
}
