/// What an archive is to be like: what the ancestors asked an archive manager for, as plain values.
package struct ArchiveChoices: Hashable, Sendable {
    /// Which of the files that are made for the archive go into it; `metadata.json` is what `archiver verify` needs.
    package var inserts: Set<GeneratedFile> = Set(GeneratedFile.allCases)
    /// Whether an archive is made without the files of a session that can't be read or are not what was recorded; it says
    /// which. Otherwise there is no archive.
    package var continuesOnFailure = false
    /// The sections of a task's result that get archives of their own.
    package var separateSections: SeparateSections = .none
    /// Whether answers are written for Bridge, with `info.json` and `answers_schema.json` beside them.
    package var hasBridgeInfo = false
    /// Whether the task's own archive has a page about the session, as `recorder report` makes it.
    package var hasReportPage = false
    /// The names of streams in which steps are counted, for `taskResult.json`.
    package var countedStreams: [String] = []

    /// Sections of a task's result.
    package enum SeparateSections: Hashable, Sendable {
        case none, all
        case some(Set<String>)

        /// Whether a section is one of them.
        func contains(_ identifier: String) -> Bool {
            switch self {
            case .none: false
            case .all: true
            case .some(let identifiers): identifiers.contains(identifier)
            }
        }
    }

    /// The usual: everything in one archive, and no archive that lacks something.
    package init() {}

    /// What a person wants.
    /// - Parameter sections: names, or `all`.
    package init(
        leavingOut generated: [GeneratedFile], separateSections sections: [String], continuesOnFailure: Bool,
        hasBridgeInfo: Bool, hasReportPage: Bool, countingStepsIn countedStreams: [String] = []
    ) {
        self.countedStreams = countedStreams
        inserts.subtract(generated)
        self.continuesOnFailure = continuesOnFailure
        self.hasBridgeInfo = hasBridgeInfo
        self.hasReportPage = hasReportPage
        if sections.contains("all") {
            separateSections = .all
        } else if !sections.isEmpty {
            separateSections = .some(Set(sections))
        }
    }
}
