/// The files that are generated for an archive. Their names are reserved.
package enum GeneratedFile: String, CaseIterable, Sendable {
    /// The answers, by key.
    case answers
    /// The task's result: its steps and recorded files.
    case taskResult
    /// The manifest, which is the archive's last file.
    case metadata

    package var fileName: String { "\(rawValue).json" }

    /// The name of the optional page about the session.
    static let reportPage = "report.html"

    /// The names that files of a session must not have.
    static func names(_ choices: ArchiveChoices) -> [String] {
        allCases.map(\.fileName) + (choices.hasBridgeInfo ? [BridgeInfo.fileName, BridgeInfo.answersSchemaName] : [])
            + (choices.hasReportPage ? [reportPage] : [])
    }
}
