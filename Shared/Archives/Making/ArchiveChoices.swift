/// The options of an archive, as plain values.
package struct ArchiveChoices: Hashable, Sendable {
    /// The generated files to include. `archiver verify` needs `metadata.json`.
    package var inserts: Set<GeneratedFile> = Set(GeneratedFile.allCases)
    /// Whether files that cannot be read or differ from what was recorded are left out and listed in the archive. Otherwise such
    /// a file prevents the archive.
    package var continuesOnFailure = false
    /// The sections of a task's result that get separate archives.
    package var separateSections: SeparateSections = .none
    /// Whether answers are written for Bridge, with `info.json` and `answers_schema.json`.
    package var hasBridgeInfo = false
    /// Whether the task's archive includes a page about the session, as made by `recorder report`.
    package var hasReportPage = false
    /// The names of streams in which steps are counted, for `taskResult.json`.
    package var countedStreams: [String] = []

    package enum SeparateSections: Hashable, Sendable {
        case none, all
        case some(Set<String>)

        func contains(_ identifier: String) -> Bool {
            switch self {
            case .none: false
            case .all: true
            case .some(let identifiers): identifiers.contains(identifier)
            }
        }
    }

    /// The defaults: one archive with everything, and no incomplete archives.
    package init() {}

    /// The options as a user enters them.
    /// - Parameter sections: section names, or `all`.
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
