import Files
import Messages
import Recording

@testable import LogManagerCore

/// A catalog whose transactions are atomic and durable.
final class ModelCatalog: CatalogReader {
    /// In the order in which they were added.
    private var all: [CatalogFile] = [] {
        didSet { counted = nil }
    }
    private var counted: CatalogUsage?
    private(set) var ledger: [InterruptedRemoval] = []
    private(set) var thresholds = LogThresholds()
    private(set) var crossings = Threshold.Kind.allCases.map { Threshold($0) }
    private(set) var rules = LogRules()
    /// Each session once, in the order in which the sessions were compared.
    private(set) var known: [(session: SessionIdentifier, isOver: Bool)] = []
    private var lastID: Int64 = 0
    /// Whether only the reserved space is left.
    var isFull = false
    var hasReserve = true
    /// Whether all writes fail.
    var isBroken = false

    /// In the order in which they were finished.
    var listed: [CatalogFile] {
        all.sorted { ($0.finished, $0.id) < ($1.finished, $1.id) }
    }

    // MARK: CatalogReader

    var usage: CatalogUsage {
        if let counted { return counted }
        var usage = CatalogUsage()
        for file in all { usage.count(file) }
        counted = usage
        return usage
    }

    var sessions: [SessionIdentifier] { known.map(\.session).sorted() }

    func isOpen(_ session: SessionIdentifier) -> Bool { known.contains { $0.session == session && !$0.isOver } }

    func file(at path: String) -> CatalogFile? {
        guard let place = try? LogFilePath(path) else { return nil }
        return all.first { $0.place == place }
    }

    func files(of log: LogName?, isPending: Bool?, after: String?, limit: Int) -> [CatalogFile] {
        let chosen = listed.filter { file in
            (log == nil || file.log == log) && (isPending == nil || (file.uploaded == nil) == isPending)
        }
        let last = after.flatMap { path in chosen.firstIndex { $0.path == path } }
        let start = last.map { $0 + 1 } ?? 0
        return Array(chosen[start...].prefix(limit))
    }

    func interruptedRemovals() -> [InterruptedRemoval] { ledger }

    // MARK: Changes

    func apply(_ change: CatalogChange) throws(RecordingError) -> [CatalogFile] {
        if isBroken {
            throw RecordingError(
                .inputOutput, action: "write to", reason: "input/output error", advice: "Check the disk.")
        }
        if isFull {
            guard change.mayUseReserve, !hasReserve else {
                throw RecordingError(
                    .noSpace, action: "write to", reason: "the disk is full", advice: "Free some space.")
            }
        }
        switch change {
        case .add(let file):
            if !ledger.contains(where: { $0.file.place == file.place }) { add(file) }
            return []
        case .mark(let files, let receipt, let date):
            return update(files) { file in (file.uploaded, file.receipt) = (date, receipt) }
        case .unmark(let files): return update(files) { file in (file.uploaded, file.receipt) = (nil, nil) }
        case .beginRemoval(let files, let reason, let date):
            let begun = all.filter { file in files.contains { $0.id == file.id } }
            all.removeAll { begun.contains($0) }
            ledger += begun.map { InterruptedRemoval(file: $0, reason: reason, date: date) }
            return begun
        case .endRemoval(let files): ledger.removeAll { entry in files.contains { $0.id == entry.file.id } }
        case .takeBack(let files):
            let back = ledger.map(\.file).filter { file in files.contains { $0.id == file.id } }
            ledger.removeAll { back.contains($0.file) }
            all += back
        case .setRule(let configuration, let pattern): rules.set(configuration, for: pattern)
        case .removeRule(let pattern): rules.remove(pattern)
        case .setThresholds(let thresholds): self.thresholds = thresholds
        case .setCrossing(let threshold):
            crossings = crossings.map { $0.kind == threshold.kind ? threshold : $0 }
        }
        return []
    }

    /// Updates the catalog to a session's files.
    func compare(_ session: SessionIdentifier, with files: [ScannedFile], isOver: Bool) -> CatalogChanges {
        var changes = CatalogChanges()
        known.removeAll { $0.session == session }
        if !files.isEmpty || ledger.contains(where: { $0.file.session == session }) { known.append((session, isOver)) }
        for old in all where old.session == session && !files.contains(where: { $0.place == old.place }) {
            changes.gone.append(old)
            all.removeAll { $0.id == old.id }
        }
        for file in files where !ledger.contains(where: { $0.file.place == file.place }) {
            if let old = self.file(at: file.path), old.identity != file.identity { changes.changed.append(old) }
            if add(file) { changes.added += 1 }
        }
        return changes
    }

    /// - Returns: whether the file is new.
    @discardableResult
    private func add(_ file: ScannedFile) -> Bool {
        if !known.contains(where: { $0.session == file.session }) { known.append((file.session, false)) }
        if let index = all.firstIndex(where: { $0.place == file.place }) {
            guard all[index].identity != file.identity else { return false }
            all[index].identity = file.identity
            all[index].sha256 = nil
            (all[index].uploaded, all[index].receipt) = (nil, nil)
            return false
        }
        lastID += 1
        all.append(
            CatalogFile(
                id: lastID, session: file.session, name: file.name, identity: file.identity,
                finished: file.finished, sha256: file.sha256, uploaded: nil, receipt: nil))
        return true
    }

    private func update(_ files: [CatalogFile], _ body: (inout CatalogFile) -> Void) -> [CatalogFile] {
        var new: [CatalogFile] = []
        for index in all.indices where files.contains(where: { $0.id == all[index].id }) {
            body(&all[index])
            new.append(all[index])
        }
        return new
    }
}
