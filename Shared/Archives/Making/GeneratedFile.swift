/// The files of an archive that are made for it. Their names are reserved.
package enum GeneratedFile: String, CaseIterable, Sendable {
    /// What was answered, by key.
    case answers
    /// The task's result: its steps, and the files that were recorded.
    case taskResult
    /// The manifest; the archive's last file.
    case metadata

    /// Its name in the archive.
    package var fileName: String { "\(rawValue).json" }

    /// The name of the page about the session, which goes into archives that are to have it.
    static let reportPage = "report.html"

    /// The names that no file of a session can have.
    static func names(_ choices: ArchiveChoices) -> [String] {
        allCases.map(\.fileName) + (choices.hasBridgeInfo ? [BridgeInfo.fileName, BridgeInfo.answersSchemaName] : [])
            + (choices.hasReportPage ? [reportPage] : [])
    }
}
