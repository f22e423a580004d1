import Files
import Foundation
import LogManagerCore
import LogStorage
import Messages
import Recording
import ServiceKit
import SystemPackage

/// A log-manager in virtual time: all decisions of the real one, with its catalog and its data directory. The simulation carries
/// out its effects, and keeps removed files for the oracle.
final class SimulatedLogManager: SimulatedProgram {
    struct Plan {
        var thresholds = LogsSetThresholds()
        var whenFull = RetentionPolicy.nothing
        var rescanInterval: Int64
        /// The number of files that it removes in one step.
        var pieceSize: Int
        /// The disk's capacity in bytes.
        var capacity: Int
    }

    /// A request that is not answered yet.
    private struct Question {
        let deadline: Int64
        /// Checks the answer, if it has arrived.
        let isAnswered: () -> Bool
    }

    /// The longest time in nanoseconds for an answer.
    private static let answerLimit: Int64 = 25_000_000_000

    let plan: Plan
    let simulation: Simulation
    private let data: FilePath
    private let attic: FilePath
    private var core: StreamFiles?
    private var catalog: Catalog?
    private var folder: DataDirectory?
    private(set) var life = 0
    /// The number of effects before the program ends; nil for no end.
    private var effectsLeft: Int?
    private var lanes: EffectLanes?
    private var questions: [Question] = []
    /// Unlinked files that may exist again after a power cut.
    private var unlinked: [CatalogFile] = []

    // What is permitted, given the requests
    private var markedPaths: Set<String> = []
    private var unmarkedPaths: Set<String> = []
    private var isOldAsked = false
    private var removedLogs: Set<LogName> = []
    /// Published removals of files that are still in the ledger.
    private var publishedRemovals: Set<String> = []
    /// Thresholds whose value went back since they were last published.
    private var armed = Set(Threshold.Kind.allCases)

    init(_ plan: Plan, in data: FilePath, attic: FilePath, of simulation: Simulation) {
        self.plan = plan
        self.data = data
        self.attic = attic
        self.simulation = simulation
    }

    var isRunning: Bool { core != nil }

    private func require(_ isSo: Bool, _ sentence: @autoclosure () -> String) {
        simulation.counts.checks.logManager += 1
        if !isSo { simulation.violate("log-manager: \(sentence())") }
    }

    // MARK: Life

    func start() throws {
        life += 1
        questions = []
        effectsLeft = simulation.happens(0.2) ? simulation.number(0...30) : nil
        try FileManager.default.createDirectory(atPath: data.string, withIntermediateDirectories: true)
        let catalog = try Catalog(in: data)
        let folder = try DataDirectory(data)
        (self.catalog, self.folder) = (catalog, folder)
        let core = StreamFiles(
            StreamFiles.Settings(
                thresholds: plan.thresholds, whenFull: plan.whenFull, rescanInterval: plan.rescanInterval),
            catalog: catalog, pieceSize: plan.pieceSize)
        self.core = core
        lanes = EffectLanes(
            later: { [unowned self] delay, body in later(delay, body) },
            afterEach: { [unowned self] in try perform() })
        core.start(at: now)
        // Nothing is answered before all of this is done.
        while isRunning {
            let effects = core.takeEffects()
            if effects.isEmpty { break }
            for effect in effects where isRunning { try carryOutAtOnce(effect, core) }
        }
        guard isRunning else { return }
        if case .failed(let error) = core.state { simulation.violate("log-manager does not start: \(error)") }
        effectsLeft = nil
        later(1_000_000_000...1_000_000_000) { [self] in try tick() }
        // A recorder that was already running may have finished files unheard.
        later(20_000_000...300_000_000) { [self] in
            self.core?.noteReconnect()
            try perform()
        }
    }

    func kill(cutsPower: Bool) {
        core = nil
        lanes = nil
        questions = []
        catalog = nil
        if cutsPower { unlinked.removeAll { _ in simulation.happens(0.5) } }
        flushUnlinked()
        folder = nil
    }

    /// Ends the program during its next effects.
    func kill(after effects: Int) { effectsLeft = effects }

    private func tick() throws {
        later(1_000_000_000...1_000_000_000) { [self] in try tick() }
        core?.tick(at: now)
        try perform()
        for question in questions where now.monotonic > question.deadline {
            require(false, "a request has no answer after \(Self.answerLimit / 1_000_000_000) s")
        }
    }

    // MARK: Arriving messages

    func take(_ segments: [SegmentFinished], _ events: [RecordingEvent]) throws {
        core?.take(segments, events, at: now)
        try perform()
    }

    func noteReconnect() { core?.noteReconnect() }

    /// The configuration of a log, as a recorder requests it.
    func configuration(of log: LogName) -> LogConfiguration? {
        try? core?.configuration(LogsGet(name: log.text, orDefaults: true))
    }

    // MARK: Requests

    private func ask<Reply>(
        _ body: (StreamFiles) -> Answer<Reply>, _ check: @escaping (Result<Reply, RequestError>) -> Void
    ) throws {
        guard let core else { return }
        let answer = body(core)
        questions.append(
            Question(deadline: now.monotonic + Self.answerLimit) {
                guard let result = answer.result else { return false }
                check(result)
                return true
            })
        try perform()
    }

    private func checkOutcome(_ outcome: LogFileOutcome, of paths: [String]) {
        let answered = outcome.done + outcome.refused.map(\.path)
        require(Set(answered) == Set(paths) && answered.count == Set(paths).count, "a path has no answer, or two")
    }

    func mark(
        _ paths: [String], receipt: JSONValue, files: [LogsMarkUploaded.File]? = nil,
        _ done: @escaping (Result<LogFileOutcome, RequestError>) -> Void = { _ in }
    ) throws {
        guard isRunning else { return }
        markedPaths.formUnion(paths)
        let request = LogsMarkUploaded(paths: paths, receipt: receipt, files: files)
        try ask({ [now] in $0.mark(request, at: now) }) { [self] result in
            if case .success(let outcome) = result {
                checkOutcome(outcome, of: paths)
                simulation.counts.marked += outcome.done.count
            }
            done(result)
        }
    }

    func removeUploaded(
        _ paths: [String], _ done: @escaping (Result<LogFileOutcome, RequestError>) -> Void = { _ in }
    ) throws {
        try ask({ [now] in $0.removeUploaded(LogsRemoveUploaded(paths: paths), at: now) }) { [self] result in
            if case .success(let outcome) = result {
                checkOutcome(outcome, of: paths)
                let left = outcome.done.filter { (try? self.catalog?.file(at: $0)) != nil }
                require(left.isEmpty, "\(left) were answered as removed")
            }
            done(result)
        }
    }

    /// Whether a file is marked, or was marked until a user asked to unmark it. A file that is being removed is in the ledger.
    func hasMarked(_ path: String) -> Bool {
        guard let catalog, !unmarkedPaths.contains(path) else { return true }
        if (try? catalog.file(at: path))?.uploaded != nil { return true }
        let ledger = (try? catalog.interruptedRemovals()) ?? []
        return ledger.contains { $0.file.path == path && $0.file.uploaded != nil }
    }

    /// Whether a user asked to unmark a file.
    func wasUnmarked(_ path: String) -> Bool { unmarkedPaths.contains(path) }

    /// Sends a random request, as a user does.
    func askForSomething() throws {
        guard let catalog, isRunning else { return }
        var files = try catalog.files(of: nil, isPending: nil, after: nil, limit: 200)
        files.removeAll { _ in simulation.happens(0.5) }
        var paths = files.prefix(simulation.number(0...40)).map(\.path)
        if simulation.happens(0.1) { paths.append("recordings/none/none-20261120235301.json") }
        simulation.counts.requests += 1
        switch simulation.number(0...5) {
        case 0: try mark(paths, receipt: .string("by hand"))
        case 1:
            unmarkedPaths.formUnion(paths)
            try ask({ [now] in $0.unmark(LogsUnmarkUploaded(paths: paths), at: now) }) { [self] in
                if case .success(let outcome) = $0 { checkOutcome(outcome, of: paths) }
            }
        case 2: try removeUploaded(paths)
        case 3:
            let bytes = simulation.number(0...400_000)
            isOldAsked = true
            try ask({ [now] in $0.removeOldAndUploaded(LogsRemoveOldAndUploaded(bytes: bytes), at: now) }) { [self] in
                if case .success(let reply) = $0 {
                    require(reply.totalBytes <= bytes, "more was left than was answered")
                }
            }
        case 4:
            let request = LogsSetThresholds(
                pendingUploadBytes: limit(400_000), totalBytes: limit(1_000_000), minimumFreeBytes: limit(plan.capacity)
            )
            try ask({ [now] in $0.setThresholds(request, at: now) }) { [self] in
                if case .success(let reply) = $0 {
                    require(catalog.thresholds == reply, "thresholds were answered that are not set")
                }
            }
        default: try askForLog()
        }
    }

    private func limit(_ maximum: Int) -> Int? {
        simulation.happens(0.3) ? nil : simulation.happens(0.3) ? 0 : simulation.number(0...maximum)
    }

    /// Adds, changes or removes a log's configuration.
    func askForLog() throws {
        let publisher = simulation.publishers[simulation.number(0...simulation.publishers.count - 1)]
        let name = publisher.names[simulation.number(0...publisher.names.count - 1)]
        let log = LogName(device: name.device, stream: name.stream)
        if simulation.happens(0.6) {
            let request = LogsAdd(
                name: log.text, format: simulation.happens(0.5) ? "csv" : nil,
                maximumFileSize: simulation.number(2_000...100_000))
            try ask({ [now] in $0.add(request, at: now) }) { [self] in
                if case .success(let reply) = $0 { require(reply.name == log.text, "another log was added") }
            }
        } else if simulation.happens(0.5) {
            let request = LogsSet(name: log.text, maximumFileSize: simulation.number(2_000...100_000))
            try ask({ [now] in $0.set(request, at: now) }) { [self] in
                if case .success(let reply) = $0 {
                    require(reply.maximumFileSize == request.maximumFileSize, "a limit was answered that is not set")
                }
            }
        } else {
            let deletes = simulation.happens(0.5)
            if deletes { removedLogs.insert(log) }
            try ask({ [now] in $0.remove(LogsRemove(name: log.text, deleteFiles: deletes), at: now) }) { [self] in
                if case .success = $0 {
                    require(self.catalog?.rules.configuration(of: log) == nil, "\(log) was answered as removed")
                }
            }
        }
    }

    // MARK: Effects

    /// Carries out effects, at once where the engine does so.
    private func perform() throws {
        while let core {
            let effects = core.takeEffects()
            if effects.isEmpty { break }
            for effect in effects where isRunning {
                switch effect {
                case .look: add(effect, core, to: "looks", 0...20_000_000)
                case .listSessions, .compare: add(effect, core, to: "scans", 0...50_000_000)
                case .remove: add(effect, core, to: "removals", 0...50_000_000)
                default: try carryOutAtOnce(effect, core)
                }
            }
        }
        questions.removeAll { $0.isAnswered() }
    }

    private func add(_ effect: StreamFiles.Effect, _ core: StreamFiles, to lane: String, _ delay: ClosedRange<Int64>) {
        lanes?.add(to: lane, delay) { [self] in try carryOutAtOnce(effect, core) }
    }

    /// Whether the program ends at this point.
    private func endsHere() -> Bool {
        guard let left = effectsLeft else { return false }
        effectsLeft = left - 1
        if left == 0 { simulation.logManagerEnded() }
        return left == 0
    }

    private func carryOutAtOnce(_ effect: StreamFiles.Effect, _ core: StreamFiles) throws {
        guard let catalog, let folder else { return }
        if endsHere() { return }
        switch effect {
        case .change(let number, let change):
            let result = Result { () throws(RecordingError) in try catalog.apply(change) }
            check(change, result)
            // A program that ends here may not know that the change is durable.
            if endsHere() { return }
            core.changed(number, result, at: now)
        case .lookAtDisk: core.take(freeBytes: max(0, plan.capacity - catalog.usage.totalBytes), at: now)
        case .find(let segments): core.found(segments.map { ($0, folder.find($0.path)) }, at: now)
        case .notice(.publish(let event)): if let event = event as? LogFileEvent { check(event, catalog) }
        case .look(let number, let paths):
            flushUnlinked()
            core.looked(number, paths.map { PathLook(path: $0, outcome: folder.look(up: $0)) }, at: now)
        case .remove(let step, let files): try remove(step, files, core, folder)
        case .listSessions:
            flushUnlinked()
            let list = Result { () throws(RecordingError) in
                let sessions = try folder.sessions()
                return StreamFiles.SessionList(
                    sessions: sessions, hasRecordings: !sessions.isEmpty || folder.hasRecordings)
            }
            core.listed(list, at: now)
        case .compare(let session, let isAtOnce):
            flushUnlinked()
            try compare(session, isAtOnce: isAtOnce, core, catalog, folder)
        case .notice(.log(_, let message, let metadata)):
            let details = metadata.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
            simulation.note("log-manager: \(message) \(details.joined(separator: " "))")
        // The oracle judges sessions in the end.
        case .retireRemains(let sessions, _): core.retiredRemains(sessions.map { ($0, .kept(nil)) }, at: now)
        case .eraseRemains(let sessions): require(false, "\(sessions) are erased, and were not retired")
        case .releaseReserve, .restoreReserve, .notice: break
        }
        noteValues()
    }

    /// Updates the catalog from a directory, in pieces between which other requests use the catalog.
    private func compare(
        _ session: SessionIdentifier, isAtOnce: Bool, _ core: StreamFiles, _ catalog: Catalog, _ folder: DataDirectory
    ) throws {
        do throws(RecordingError) {
            let content = try folder.content(of: session)
            let reconciliation = try Reconciliation(
                of: content, in: catalog, folder: folder,
                stepSize: isAtOnce ? Reconciliation.stepSize : simulation.number(1...64))
            step(reconciliation, CatalogChanges(), content.warning, isAtOnce: isAtOnce, core)
        } catch {
            core.compared(.failure(error), warning: nil, at: now)
        }
    }

    private func step(
        _ reconciliation: Reconciliation, _ changes: CatalogChanges, _ warning: String?, isAtOnce: Bool,
        _ core: StreamFiles
    ) {
        var (reconciliation, changes) = (reconciliation, changes)
        do throws(RecordingError) {
            while let found = try reconciliation.step() {
                changes += found
                if isAtOnce { continue }
                let (next, all) = (reconciliation, changes)
                return later(0...5_000_000) { [self] in
                    flushUnlinked()
                    step(next, all, warning, isAtOnce: false, core)
                    try perform()
                }
            }
            core.compared(.success(changes), warning: warning, at: now)
        } catch {
            core.compared(.failure(error), warning: warning, at: now)
        }
    }

    // MARK: Removal

    private func remove(
        _ step: RemovalStep, _ files: [CatalogFile], _ core: StreamFiles, _ folder: DataDirectory
    ) throws {
        var failures: [Int64: RemovalFailure]
        switch step {
        case .unlink:
            failures = folder.carryOut(.check, for: files)
            let passed = files.filter { failures[$0.id] == nil }
            try checkUnlink(passed)
            unlinked += passed
        case .check, .list: failures = folder.carryOut(step, for: files)
        case .sync:
            flushUnlinked()
            failures = folder.carryOut(step, for: files)
        }
        if endsHere() { return }
        core.stepped(failures, at: now)
    }

    /// Repeats the program's unlinks: a power cut may have undone some of them.
    func flushUnlinked() {
        if unlinked.isEmpty { return }
        _ = folder?.carryOut(.unlink, for: unlinked)
        unlinked = []
    }

    /// Checks that the files about to be removed may be, and keeps copies for the oracle.
    private func checkUnlink(_ files: [CatalogFile]) throws {
        guard let ledger = try catalog?.interruptedRemovals() else { return }
        for (session, files) in Dictionary(grouping: files, by: \.session).sorted(by: { $0.key < $1.key }) {
            guard let directory = try? SessionDirectory.open(session, in: data) else { continue }
            let listed = try Set(RemovedFile.read(in: directory.directory).map(\.name))
            let kept = attic.appending(session.text)
            try FileManager.default.createDirectory(atPath: kept.string, withIntermediateDirectories: true)
            for file in files {
                guard case .found(let identity)? = folder?.look(up: file.path), identity == file.identity else {
                    continue
                }
                let copy = kept.appending(file.name.description).string
                if !FileManager.default.fileExists(atPath: copy) {
                    try FileManager.default.copyItem(atPath: data.appending(file.path).string, toPath: copy)
                }
                require(listed.contains(file.name.description), "\(file.path) is removed and not listed")
                guard let entry = ledger.first(where: { $0.file.id == file.id }) else {
                    require(false, "\(file.path) is removed and not in the ledger")
                    continue
                }
                checkReason(of: entry)
            }
        }
    }

    private func checkReason(of entry: InterruptedRemoval) {
        let file = entry.file
        let hasReceipt = file.uploaded != nil && markedPaths.contains(file.path)
        switch entry.reason {
        case .removeUploaded: require(hasReceipt, "\(file.path) is removed without a receipt")
        case .whenFull:
            require(
                plan.whenFull == .oldest || (plan.whenFull == .uploadedOnly && hasReceipt),
                "\(file.path) is removed, and the policy is \(plan.whenFull)")
        case .removeOldAndUploaded: require(isOldAsked, "nobody asked for space")
        case .logRemoved: require(removedLogs.contains(file.log), "nobody removed \(file.log)")
        }
    }

    // MARK: Invariants

    private func check(_ change: CatalogChange, _ result: Result<[CatalogFile], RecordingError>) {
        guard case .success(let files) = result else { return }
        switch change {
        case .mark:
            for file in files { require(markedPaths.contains(file.path), "nobody marked \(file.path)") }
        case .endRemoval(let removed):
            for file in removed {
                // Otherwise a kill at this point would leave a removal without an event.
                require(
                    publishedRemovals.remove(file.path) != nil,
                    "\(file.path) left the ledger before its removal was published")
                require(
                    folder?.look(up: file.path) != .found(file.identity),
                    "\(file.path) left the ledger, but not the disk")
            }
        default: break
        }
    }

    private func check(_ event: LogFileEvent, _ catalog: Catalog) {
        switch event.change {
        case .threshold:
            simulation.counts.crossings += 1
            guard let kind = event.threshold.flatMap(Threshold.Kind.init) else { return require(false, "no threshold") }
            require(armed.remove(kind) != nil, "\(kind) was published twice for one crossing")
        case .removed:
            simulation.counts.removed += 1
            if let path = event.path { publishedRemovals.insert(path) }
            require(
                (try? catalog.file(at: event.path ?? "")) == nil,
                "\(event.path ?? "") is published as removed, and listed"
            )
        default: break
        }
    }

    private func noteValues() {
        guard let core, let catalog else { return }
        for kind in Threshold.Kind.allCases where !armed.contains(kind) {
            let value: Int? =
                switch kind {
                case .pendingUploadBytes: catalog.usage.pendingBytes
                case .totalBytes: catalog.usage.totalBytes
                case .minimumFreeBytes: core.freeBytes
                }
            let limit = catalog.thresholds[keyPath: kind.limit]
            if value.map({ Threshold(kind).isBeyond($0, limit: limit) }) == false { armed.insert(kind) }
        }
    }

    // MARK: At rest

    /// What is not as it must be once nothing more happens; nil if all is well.
    func unrest() throws -> String? {
        guard let core, let catalog, case .running = core.state else { return "log-manager does not run" }
        if !questions.isEmpty { return "\(questions.count) requests have no answer" }
        if lanes?.isEmpty == false || core.waitingRemovals > 0 { return "log-manager is at work" }
        let ledger = try catalog.interruptedRemovals()
        if !ledger.isEmpty { return "\(ledger.count) removals are not completed" }
        var listed = Set<String>()
        var last: String?
        while true {
            let files = try catalog.files(of: nil, isPending: nil, after: last, limit: 1_000)
            listed.formUnion(files.map(\.path))
            last = files.last?.path
            if files.count < 1_000 { break }
        }
        // All sessions are over.
        let found = Set(
            try SessionDirectory.sessions(in: data).flatMap { session in
                try SessionDirectory.open(session, in: data).directory.names().compactMap { name in
                    FinishedName(fileName: name.utf8).map { LogFilePath(session: session, name: $0).description }
                }
            })
        if listed != found {
            let differing = listed.symmetricDifference(found).sorted()
            return "the catalog has \(listed.count) files, the disk \(found.count): \(differing.prefix(3))"
        }
        return nil
    }
}
