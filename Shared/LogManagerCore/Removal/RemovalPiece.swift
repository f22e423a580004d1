import Messages
import Recording

/// Files that are removed together, and the progress of their removal.
///
/// The steps are: ledger, list of removed files, unlink, sync of the directories, ledger. If the program ends at any of them, its
/// next start completes the removal.
struct RemovalPiece {
    let reason: RemovalReason
    let date: WallTime
    let files: [CatalogFile]
    /// The step under way; nil if none is left.
    private(set) var step: RemovalStep? = .check
    /// The files that the step applies to.
    private(set) var stepFiles: [CatalogFile]
    /// Why files stay, by the files' numbers.
    private(set) var refusals: [Int64: String] = [:]
    /// Why it is uncertain that files are gone, by the files' numbers. These files stay in the ledger.
    private(set) var unfinished: [Int64: String] = [:]
    /// Files still to be added to their sessions' lists.
    private var unlisted: Set<Int64>
    private var isUnlinked = false

    init(_ files: [CatalogFile], reason: RemovalReason, date: WallTime) {
        self.files = files
        self.reason = reason
        self.date = date
        stepFiles = files
        unlisted = Set(files.map(\.id))
        if files.isEmpty { step = nil }
    }

    /// The files that are certainly gone.
    var removed: [CatalogFile] { files.filter { refusals[$0.id] == nil && unfinished[$0.id] == nil } }

    var refused: [CatalogFile] { files.filter { refusals[$0.id] != nil } }

    /// Takes the result of the current step and moves on to the next.
    mutating func take(_ failures: [Int64: RemovalFailure]) {
        guard let done = step else { return }
        for file in stepFiles {
            let failure = failures[file.id]
            switch done {
            case .check, .unlink: refusals[file.id] = failure?.reason
            case .list:
                if failure == nil {
                    unlisted.remove(file.id)
                } else if isUnlinked {
                    unfinished[file.id] = failure.map { "its removal could not be completed: \($0.reason)" }
                } else if failure?.isDiskFull == false {
                    // A full disk must not prevent removals; there is space for the list afterwards.
                    refusals[file.id] = failure?.reason
                }
            case .sync: unfinished[file.id] = failure.map { "its removal could not be completed: \($0.reason)" }
            }
        }
        stepFiles = removed
        switch done {
        case .check: step = .list(reason, date)
        case .list: step = isUnlinked ? nil : .unlink
        case .unlink:
            isUnlinked = true
            step = .sync
        case .sync:
            stepFiles.removeAll { !unlisted.contains($0.id) }
            step = .list(reason, date)
        }
        if stepFiles.isEmpty { step = nil }
    }
}
