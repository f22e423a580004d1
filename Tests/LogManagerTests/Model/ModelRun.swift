import Files
import Messages
import Recording
import ServiceKit
import TestSupport
import Testing

@testable import LogManagerCore

/// A log manager in virtual time, with a model catalog and a model disk. A seed decides everything that happens; the invariants
/// are checked at every effect.
final class ModelRun {
    private static let start: Int64 = 1_795_218_781_000_000_000
    private static let second: Int64 = 1_000_000_000
    private static let logs = ["phone_gyro", "watch_gyro"]

    /// A request without an answer yet: polls for the answer, and checks it.
    private struct Question {
        let isAnswered: () -> Bool
    }

    private let seed: UInt64
    private var random: SplitMix
    private let catalog = ModelCatalog()
    private var disk = ModelDisk()
    private var core: StreamFiles
    private let settings: StreamFiles.Settings
    private let sessions: [SessionIdentifier]
    private var time: Int64 = 0
    private var files = 0
    /// Effects that take time; those of one kind run in succession.
    private var queues: [[StreamFiles.Effect]] = [[], [], []]
    private var questions: [Question] = []

    // What is allowed, by what users asked for
    private var markedPaths: Set<String> = []
    private var markedInodes: Set<UInt64> = []
    private var isOldAsked = false
    private var removedLogs: Set<String> = []

    // What happened
    /// Thresholds whose value has been back within the limit since they were last published.
    private var armed = Set(Threshold.Kind.allCases)
    /// Files whose removal was published: in all runs, and in this one.
    private var publishedRemovals: Set<String> = []
    private var publishedInRun: Set<String> = []
    private var storedCrossings = 0
    private var publishedCrossings = 0
    private(set) var kills = 0
    private(set) var removedFiles = 0
    /// Kinds of faults that a seed leaves out.
    private var killsPerThousand: Int
    private let hasFaults: Bool
    private(set) var violations: [String] = []

    init(seed: UInt64) throws {
        self.seed = seed
        random = SplitMix(seed: seed)
        killsPerThousand = [0, 3, 30, 100].randomElement(using: &random) ?? 0
        hasFaults = Bool.random(using: &random)
        settings = StreamFiles.Settings(
            thresholds: LogsSetThresholds(
                totalBytes: Bool.random(using: &random) ? Int.random(in: 0...300, using: &random) : nil),
            whenFull: RetentionPolicy.allCases.randomElement(using: &random) ?? .nothing,
            rescanInterval: Int64.random(in: 5...400, using: &random) * Self.second)
        sessions = try ["a", "b", "c"].map { try SessionIdentifier($0) }
        core = StreamFiles(settings, catalog: catalog, pieceSize: 3)
        for _ in 0..<Int.random(in: 0...10, using: &random) { _ = writeFile() }
        core.start(at: now)
    }

    private var now: Moment {
        Moment(monotonic: time, date: WallTime(nanosecondsSince1970: Self.start + time))
    }

    private func chance(_ perThousand: Int) -> Bool { Int.random(in: 0..<1_000, using: &random) < perThousand }

    private func require(_ isSo: Bool, _ sentence: @autoclosure () -> String) {
        if !isSo { violations.append("\(sentence()), at \(Double(time) / 1e9) s") }
    }

    // MARK: The run

    /// Simulates random steps, then ends all faults, and checks that everything comes to rest.
    func run(steps: Int) {
        perform()
        for _ in 0..<steps where violations.isEmpty { happen() }
        disk.isMounted = true
        (disk.isFull, disk.failsSyncs, catalog.isFull) = (false, false, false)
        killsPerThousand = 0
        for _ in 0..<90 where violations.isEmpty {
            // A program that could not start is restarted by its supervisor, which is not part of the model.
            if case .failed = core.state { restart(isPowerCut: false) }
            settle()
            pass(5 * Self.second)
        }
        settle()
        checkRest()
    }

    /// Carries out all pending effects, which must end by themselves.
    private func settle() {
        var count = 0
        while violations.isEmpty, carryOutNext(isCalm: true) {
            count += 1
            require(count < 10_000, "there is always something more to do")
        }
    }

    private func happen() {
        if chance(killsPerThousand / 3) { return restart(isPowerCut: chance(300)) }
        if case .starting = core.state {
            if !carryOutNext(isCalm: false) { require(false, "the start has nothing left to do") }
            return
        }
        if case .failed = core.state { return restart(isPowerCut: false) }
        switch Int.random(in: 0..<20, using: &random) {
        case 0...1: announce(writeFile())
        case 2: _ = writeFile()
        case 3: if let file = disk.files.randomElement(using: &random) { changeUnseen(file) }
        case 4: askToMark()
        case 5: askToUnmark()
        case 6: askToRemove()
        case 7: askForOld()
        case 8: askForThresholds()
        case 9: askForLogs()
        case 10: if hasFaults { changeFaults() }
        case 11: core.noteReconnect()
        case 12: pass(Int64.random(in: 0...40, using: &random) * Self.second)
        default: if !carryOutNext(isCalm: false) { pass(Int64.random(in: 0...2_000_000_000, using: &random)) }
        }
    }

    private func pass(_ nanoseconds: Int64) {
        time += nanoseconds
        if case .starting = core.state { return }
        core.tick(at: now)
        perform()
    }

    /// Kills the program and starts it again.
    private func restart(isPowerCut: Bool) {
        kills += 1
        publishedInRun = []
        if isPowerCut { disk.cutPower { _ in chance(500) } }
        queues = [[], [], []]
        questions = []
        time += Int64.random(in: 0...Self.second, using: &random)
        core = StreamFiles(settings, catalog: catalog, pieceSize: 3)
        core.start(at: now)
        perform()
    }

    // MARK: Files

    private func writeFile() -> ScannedFile {
        files += 1
        let session = sessions[Int.random(in: 0..<sessions.count, using: &random)]
        let log = Self.logs[Int.random(in: 0..<Self.logs.count, using: &random)]
        let name = FinishedName(
            log: LogName(log), stamp: FinishedName.stamp(of: now.date), count: files, format: .json)
        return disk.write(
            LogFilePath(session: session, name: name), bytes: Int.random(in: 1...60, using: &random), at: now)
    }

    private func announce(_ file: ScannedFile) {
        if chance(300) { disk.remove(file) }
        core.take(
            [
                SegmentFinished(
                    source: "recorder", sequence: 0, session: file.session.text, log: file.log.text, path: file.path,
                    bytes: file.identity.bytes, samples: 1, sha256: "")
            ],
            [
                RecordingEvent(
                    source: "recorder", sequence: 0, session: file.session.text, date: now.date, change: .status,
                    status: (Bool.random(using: &random) ? SessionStatus.running : .finished).rawValue, step: "")
            ], at: now)
        perform()
    }

    private func changeUnseen(_ file: ScannedFile) {
        if Bool.random(using: &random) {
            disk.remove(file)
        } else {
            _ = disk.write(file.place, bytes: Int.random(in: 1...60, using: &random), at: now)
        }
    }

    private func changeFaults() {
        disk.isMounted = chance(700)
        disk.isFull = chance(300)
        disk.failsSyncs = chance(200)
        catalog.isFull = chance(300)
    }

    // MARK: Requests

    private func somePaths() -> [String] {
        var paths = (0..<Int.random(in: 0...10, using: &random)).compactMap { _ in
            catalog.listed.randomElement(using: &random)?.path
        }
        if chance(100) { paths.append("recordings/a/nothing-20261120235301.json") }
        return paths
    }

    private func ask<Reply>(_ answer: Answer<Reply>, _ check: @escaping (Reply) -> Void) {
        questions.append(
            Question {
                guard let result = answer.result else { return false }
                if case .success(let reply) = result { check(reply) }
                return true
            })
        perform()
    }

    private func checkOutcome(_ outcome: LogFileOutcome, of paths: [String]) {
        require(
            (outcome.done + outcome.refused.map(\.path)).sorted() == Set(paths).sorted(),
            "not every path was answered once")
    }

    private func askToMark() {
        let paths = somePaths()
        for path in paths { markedPaths.insert(path) }
        ask(core.mark(LogsMarkUploaded(paths: paths, receipt: .string("r")), at: now)) { [self] outcome in
            checkOutcome(outcome, of: paths)
            if paths.count > 6 { return }
            for path in outcome.done {
                require(catalog.file(at: path)?.uploaded != nil, "\(path) was answered as marked")
            }
        }
    }

    private func askToUnmark() {
        let paths = somePaths()
        ask(core.unmark(LogsUnmarkUploaded(paths: paths), at: now)) { [self] outcome in
            checkOutcome(outcome, of: paths)
        }
    }

    private func askToRemove() {
        let paths = somePaths()
        ask(core.removeUploaded(LogsRemoveUploaded(paths: paths), at: now)) { [self] outcome in
            checkOutcome(outcome, of: paths)
            for path in outcome.done {
                require(catalog.file(at: path) == nil, "\(path) was answered as removed")
                require(!catalog.ledger.contains { $0.file.path == path }, "\(path) is still in the ledger")
            }
        }
    }

    private func askForOld() {
        let bytes = Int.random(in: -1...300, using: &random)
        isOldAsked = true
        ask(core.removeOldAndUploaded(LogsRemoveOldAndUploaded(bytes: bytes), at: now)) { [self] reply in
            require(reply.totalBytes <= bytes, "more was left than was answered")
        }
    }

    private func askForThresholds() {
        func bytes(_ maximum: Int) -> Int? {
            [nil, 0, Int.random(in: 0...maximum, using: &random)].randomElement(using: &random) ?? nil
        }
        let request = LogsSetThresholds(
            pendingUploadBytes: bytes(300), totalBytes: bytes(400), minimumFreeBytes: bytes(1_200))
        ask(core.setThresholds(request, at: now)) { [self] reply in
            require(catalog.thresholds == reply, "thresholds were answered that are not set")
        }
    }

    private func askForLogs() {
        let log = Self.logs[Int.random(in: 0..<2, using: &random)]
        if Bool.random(using: &random) {
            ask(core.add(LogsAdd(name: log), at: now)) { [self] reply in
                require(catalog.rules.configuration(of: LogName(log)) == reply, "a log was answered that is not there")
            }
        } else {
            let deletes = Bool.random(using: &random)
            if deletes { removedLogs.insert(log) }
            ask(core.remove(LogsRemove(name: log, deleteFiles: deletes), at: now)) { [self] _ in
                require(catalog.rules.configuration(of: LogName(log)) == nil, "a log was answered as removed")
            }
        }
    }

    // MARK: Effects

    /// Carries out effects that complete at once, and queues those that take time.
    private func perform() {
        while violations.isEmpty {
            let effects = core.takeEffects()
            if effects.isEmpty { break }
            for effect in effects {
                switch effect {
                case .look: queues[0].append(effect)
                case .listSessions, .compare: queues[1].append(effect)
                case .remove: queues[2].append(effect)
                default:
                    // A killed program carries out nothing more.
                    if chance(killsPerThousand) { return restart(isPowerCut: chance(300)) }
                    if !carryOutNow(effect) { return restart(isPowerCut: chance(300)) }
                }
                noteValues()
            }
            noteAnswers()
        }
    }

    private func noteAnswers() {
        questions.removeAll { $0.isAnswered() }
    }

    private func value(of kind: Threshold.Kind) -> Int? {
        switch kind {
        case .pendingUploadBytes: catalog.usage.pendingBytes
        case .totalBytes: catalog.usage.totalBytes
        case .minimumFreeBytes: core.freeBytes
        }
    }

    private func isBeyond(_ kind: Threshold.Kind) -> Bool? {
        value(of: kind).map { Threshold(kind).isBeyond($0, limit: catalog.thresholds[keyPath: kind.limit]) }
    }

    private func noteValues() {
        for kind in Threshold.Kind.allCases where isBeyond(kind) == false { armed.insert(kind) }
    }

    /// - Returns: false if the program is killed after the effect, before it receives the result.
    private func carryOutNow(_ effect: StreamFiles.Effect) -> Bool {
        switch effect {
        case .change(let number, let change):
            let result = Result { () throws(RecordingError) in try catalog.apply(change) }
            check(change, result)
            if chance(killsPerThousand) { return false }
            core.changed(number, result, at: now)
        case .releaseReserve: catalog.hasReserve = false
        case .restoreReserve: catalog.hasReserve = true
        case .lookAtDisk:
            let bytes = max(0, 1_500 - disk.files.reduce(0) { $0 + $1.identity.bytes })
            core.take(freeBytes: bytes, at: now)
        case .find(let segments): core.found(segments.map { ($0, disk.file(at: $0.path)) }, at: now)
        case .notice(.publish(let event)): if let event = event as? LogFileEvent { check(event) }
        default: break
        }
        return true
    }

    private func check(_ change: CatalogChange, _ result: Result<[CatalogFile], RecordingError>) {
        guard case .success = result else { return }
        switch change {
        case .mark(let files, _, _):
            for file in files {
                require(markedPaths.contains(file.path), "nobody marked \(file.path)")
                markedInodes.insert(file.identity.inode)
            }
        case .unmark(let files): for file in files { markedInodes.remove(file.identity.inode) }
        case .setCrossing(let threshold): if threshold.isCrossed { storedCrossings += 1 }
        case .endRemoval(let files):
            for file in files {
                require(
                    disk.files.allSatisfy { $0.place != file.place || $0.identity != file.identity },
                    "\(file.path) left the ledger, but not the disk")
                require(disk.isListed(file), "\(file.path) is not in the list of removed files")
                require(publishedRemovals.contains(file.path), "\(file.path) left the ledger unpublished")
            }
        default: break
        }
    }

    private func check(_ event: LogFileEvent) {
        switch event.change {
        case .threshold:
            publishedCrossings += 1
            guard let kind = event.threshold.flatMap(Threshold.Kind.init) else { return require(false, "no threshold") }
            require(armed.remove(kind) != nil, "\(kind) was published twice for one crossing")
        case .removed:
            removedFiles += 1
            let path = event.path ?? ""
            require(disk.file(at: path) == nil, "\(path) was published as removed, and is there")
            require(publishedInRun.insert(path).inserted, "\(path) was published twice")
            publishedRemovals.insert(path)
        default: break
        }
    }

    /// - Returns: false if no effect is pending.
    private func carryOutNext(isCalm: Bool) -> Bool {
        let busy = queues.indices.filter { !queues[$0].isEmpty }
        guard let queue = busy.randomElement(using: &random) else { return false }
        let effect = queues[queue].removeFirst()
        let isKilled = !isCalm && chance(killsPerThousand)
        if !isCalm { time += Int64.random(in: 0...50_000_000, using: &random) }
        switch effect {
        case .look(let number, let paths):
            let found = paths.map { path in
                PathLook(
                    path: path, outcome: disk.file(at: path).map { .found($0.identity) } ?? .refused("it is not there"))
            }
            core.looked(number, found, at: now)
        case .remove(let step, let files):
            // A kill may come after some of the files.
            let count = isKilled ? Int.random(in: 0...files.count, using: &random) : files.count
            var failures: [Int64: RemovalFailure] = [:]
            for file in files.prefix(count) {
                if step == .unlink { checkUnlink(file) }
                failures[file.id] = disk.carryOut(step, for: file)
            }
            if isKilled {
                restart(isPowerCut: chance(300))
                return true
            }
            core.stepped(failures, at: now)
        case .listSessions:
            core.listed(
                .success(StreamFiles.SessionList(sessions: disk.sessions, hasRecordings: disk.isMounted)), at: now)
        case .compare(let session, _): compare(session)
        default: break
        }
        perform()
        return true
    }

    private func compare(_ session: SessionIdentifier) {
        guard disk.isMounted else {
            let error = RecordingError(.notFound, action: "list", reason: "it is not there", advice: "Look.")
            return core.compared(.failure(error), warning: nil, at: now)
        }
        let changes = catalog.compare(session, with: disk.files(of: session), isOver: Bool.random(using: &random))
        core.compared(.success(changes), warning: nil, at: now)
    }

    /// Checks that a file may be removed, just before it is.
    private func checkUnlink(_ file: CatalogFile) {
        guard let found = disk.file(at: file.path), found.identity == file.identity else { return }
        guard let entry = catalog.ledger.first(where: { $0.file.id == file.id }) else {
            return require(false, "\(file.path) is removed and not in the ledger")
        }
        require(disk.isListed(file) || disk.isFull || hasFaults, "\(file.path) is removed and not listed")
        let hasReceipt = entry.file.uploaded != nil && markedInodes.contains(file.identity.inode)
        switch entry.reason {
        case .removeUploaded: require(hasReceipt, "\(file.path) is removed without a receipt")
        case .whenFull:
            require(
                settings.whenFull == .oldest || (settings.whenFull == .uploadedOnly && hasReceipt),
                "\(file.path) is removed, and the policy is \(settings.whenFull)")
        case .removeOldAndUploaded: require(isOldAsked, "nobody asked for space")
        case .logRemoved: require(removedLogs.contains(file.log.text), "nobody removed \(file.log)")
        }
    }

    // MARK: At rest

    private func checkRest() {
        guard violations.isEmpty else { return }
        guard case .running = core.state else { return require(false, "the program does not run") }
        require(questions.isEmpty, "\(questions.count) requests were not answered")
        require(catalog.ledger.isEmpty, "\(catalog.ledger.count) removals were not completed")
        require(core.waitingRemovals == 0, "removals wait")
        require(
            catalog.listed.map(\.path).sorted() == disk.files.map(\.path).sorted(),
            "the catalog has \(catalog.listed.count) files, the disk \(disk.files.count)")
        for threshold in catalog.crossings {
            require(
                isBeyond(threshold.kind) == nil || isBeyond(threshold.kind) == threshold.isCrossed,
                "\(threshold.kind) is not as it was stored")
        }
        if kills == 0 {
            require(
                storedCrossings == publishedCrossings,
                "\(publishedCrossings) crossings of \(storedCrossings) were published")
        }
        if settings.whenFull == .oldest, catalog.thresholds.minimumFreeBytes <= 1_440 {
            require(core.bytesToFree == 0, "\(core.bytesToFree) bytes too much are left")
        }
    }
}
