import ArchiveStorage
import ArchiverCore
import Files
import Foundation
import Messages
import Recording
import ServiceKit
import SystemPackage
import TestSupport
import Upload

/// An archiver in virtual time: all decisions of the real one, with a real directory of archives, records, receipts and locks. An
/// archive is a list of its files, hashed as they are on the disk.
final class SimulatedArchiver: WakingProgram {
    struct Plan {
        var policy: ArchivePolicy
        var uploads: Int
        var rescanInterval: Int64
    }

    /// How long log-manager may take to answer, in nanoseconds.
    private static let answerLimit: Int64 = 30_000_000_000

    let plan: Plan
    let receiver: SimulatedReceiver
    let simulation: Simulation
    private let data: FilePath
    private let folder: ArchiveDirectory
    private var core: Deliveries?
    private(set) var life = 0
    /// The number of effects before the program ends; nil for no end.
    private var effectsLeft: Int?
    private var lanes: EffectLanes?
    private var claims: [SessionIdentifier: DirectoryLock] = [:]
    private var isMaking = false
    private var uploads = 0
    /// Sessions whose files log-manager marked, according to their receipts.
    private var marked: Set<SessionIdentifier> = []
    /// The first archives of each session that were stored.
    private var made: [SessionIdentifier: [ArchiveRecord.Archive]] = [:]

    /// The next scheduled wake-up, on the monotonic clock.
    var wakeTime = Int64.max

    init(_ plan: Plan, receiver: SimulatedReceiver, in data: FilePath, of simulation: Simulation) {
        self.plan = plan
        self.receiver = receiver
        self.data = data
        self.simulation = simulation
        folder = ArchiveDirectory(data)
    }

    var isRunning: Bool { core != nil }

    private func require(_ isSo: Bool, _ sentence: @autoclosure () -> String) {
        simulation.counts.checks.archiver += 1
        if !isSo { simulation.violate("archiver: \(sentence())") }
    }

    // MARK: Life

    func start() throws {
        life += 1
        effectsLeft = simulation.happens(0.2) ? simulation.number(0...20) : nil
        (isMaking, uploads, wakeTime) = (false, 0, .max)
        try FileManager.default.createDirectory(atPath: folder.directory.path.string, withIntermediateDirectories: true)
        let core = Deliveries(
            Deliveries.Settings(
                policy: plan.policy, retries: RetryPolicy(), uploads: plan.uploads, rescanInterval: plan.rescanInterval,
                logManager: "log-manager"), random: SplitMix(seed: simulation.seed()))
        self.core = core
        lanes = EffectLanes(
            later: { [unowned self] delay, body in later(delay, body) },
            afterEach: { [unowned self] in try perform() })
        core.begin(at: now)
        try perform()
    }

    func kill() {
        core = nil
        lanes = nil
        claims = [:]
    }

    /// Ends the program during its next effects.
    func kill(after effects: Int) { effectsLeft = effects }

    /// Takes a recorder's event.
    func take(_ event: RecordingEvent) throws {
        guard let core, let session = try? SessionIdentifier(event.session),
            SessionStatus(rawValue: event.status)?.isOver ?? false
        else { return }
        core.ended(session, at: now)
        try perform()
    }

    /// Requests immediate processing of a session, as a user does.
    func hurry(_ session: SessionIdentifier) throws {
        guard let core else { return }
        _ = core.hurry(session, try view(of: session), at: now)
        try perform()
    }

    // MARK: Effects

    private func perform() throws {
        while let core {
            let effects = core.takeEffects()
            if effects.isEmpty { break }
            for effect in effects where isRunning { try perform(effect, core) }
        }
        planWake()
    }

    var nextDeadline: Int64 { core?.nextDeadline ?? .max }

    func wake() throws {
        core?.wake(at: now)
        try perform()
    }

    /// Whether the program ends at this point.
    private func endsHere() -> Bool {
        guard let left = effectsLeft else { return false }
        effectsLeft = left - 1
        if left == 0 { simulation.archiverEnded() }
        return left == 0
    }

    private func add(to lane: String, _ delay: ClosedRange<Int64>, _ body: @escaping () throws -> Void) {
        lanes?.add(to: lane, delay) { [self] in
            if !endsHere() { try body() }
        }
    }

    private func perform(_ effect: Deliveries.Effect, _ core: Deliveries) throws {
        switch effect {
        case .scan, .look, .claim, .release, .storeRecord, .storeReceipt, .find, .removeArchives, .discard:
            add(to: "disk", 0...20_000_000) { [self] in try carryOutOnDisk(effect, core) }
        case .make(let session):
            require(!isMaking, "two archives are made at a time")
            isMaking = true
            add(to: "making", 10_000_000...3_000_000_000) { [self] in
                isMaking = false
                let outcome = try make(session)
                if !endsHere() { core.made(session, outcome, at: now) }
            }
        case .upload(let session, let archive): try upload(archive, of: session, core)
        case .ask(let session, let request):
            add(to: "log-manager", 0...1_000_000) { [self] in try ask(request, about: session, core) }
        case .notice(.publish(let event)): if let event = event as? ArchiveEvent { try check(event) }
        case .notice(.log(_, let message, let metadata)):
            let details = metadata.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
            let line = "archiver: \(message) \(details.joined(separator: " "))"
            simulation.note(line.replacing(data.string + "/", with: ""))
        case .forget, .notice: break
        }
    }

    private func carryOutOnDisk(_ effect: Deliveries.Effect, _ core: Deliveries) throws {
        switch effect {
        case .scan:
            let outcome = Result { () throws(RecordingError) in
                // The disk's dates are not in virtual time: nothing counts as old.
                try folder.removeLeftovers(at: WallTime(nanosecondsSince1970: 0))
                return try folder.sessions()
            }
            core.scanned(outcome, discarded: (try? folder.discarded()) ?? [], at: now)
        case .look(let session):
            core.looked(session, result { () throws(RecordingError) in try view(of: session) }, at: now)
        case .claim(let session):
            let outcome = result { () throws(RecordingError) -> SessionView? in
                claims[session] = try folder.claim(session)
                return claims[session] == nil ? nil : try view(of: session)
            }
            core.claimed(session, outcome, at: now)
        case .release(let session): claims[session] = nil
        case .storeRecord(let record):
            try checkStored(record)
            let failure = RecordingError.thrown { () throws(RecordingError) in try folder.write(record) }
            if !endsHere() { core.stored(record.session, failure, at: now) }
        case .storeReceipt(let receipt):
            try checkStored(receipt)
            let failure = RecordingError.thrown { () throws(RecordingError) in try folder.write(receipt) }
            if !endsHere() { core.stored(receipt.session, failure, at: now) }
        case .find(let session, let paths):
            simulation.logManager?.flushUnlinked()
            core.found(session, result { () throws(RecordingError) in try folder.existing(paths) }, at: now)
        case .removeArchives(let receipt):
            require(claims[receipt.session] != nil, "archives of \(receipt.session) are removed without its claim")
            require(marked.contains(receipt.session), "archives of \(receipt.session) go before its files are marked")
            require(plan.policy.keepArchives != .always, "archives are removed that are to be kept")
            let outcome = result { () throws(RecordingError) in try folder.removeArchives(of: receipt) }
            if !endsHere() { core.removedArchives(receipt.session, outcome, at: now) }
        case .discard(let session): simulation.violate("\(session) is discarded, and nobody asked for that")
        default: break
        }
    }

    private func result<Value>(_ body: () throws(RecordingError) -> Value) -> Result<Value, RecordingError> {
        Result { () throws(RecordingError) in try body() }
    }

    /// The state of a session on disk. One that failed without an end counts as running, because the disk's dates are not in
    /// virtual time.
    private func view(of session: SessionIdentifier) throws(RecordingError) -> SessionView {
        var view = try folder.view(of: session, at: now.date)
        if view.receipt == nil, view.isOver, let directory = try? SessionDirectory.open(session, in: data) {
            view.isOver = directory.hasChecksums
        }
        return view
    }

    // MARK: Archives

    private func make(_ session: SessionIdentifier) throws -> Result<ArchiveRecord, ArchiveFailure> {
        require(claims[session] != nil, "an archive of \(session) is made without its claim")
        let before = try view(of: session)
        require(before.isOver, "\(session) is archived before its end")
        require(before.receipt == nil && !before.archiveExists, "\(session) is archived twice")
        simulation.logManager?.flushUnlinked()
        let directory = try SessionDirectory.open(session, in: data)
        let record = try directory.record()
        var files: [ArchiveRecord.File] = []
        let name = "\(session).zip"
        for file in record.logs.flatMap(\.files) where directory.directory.contains(file.name) {
            let (bytes, sha256) = try FinishedFile.measure(directory.directory.path.appending(file.name))
            require(sha256 == file.sha256 && bytes == file.bytes, "\(file.name) is not what the recorder finished")
            files.append(ArchiveRecord.File(name: file.name, bytes: bytes, sha256: sha256, archive: name))
        }
        // Each encryption has a different result.
        var text = plan.policy.encrypts ? "\(simulation.seed())\n" : ""
        for file in files { text += "\(file.sha256)  \(file.name)\n" }
        let path = folder.directory.path.appending(name)
        // A kill leaves the whole file or a part of it.
        let part = text.prefix(simulation.number(0...text.count))
        try Data(part.utf8).write(to: URL(filePath: path.string))
        if endsHere() { return .failure(.away("", after: .zero)) }
        try Data(text.utf8).write(to: URL(filePath: path.string))
        let (bytes, sha256) = try FinishedFile.measure(path)
        var made = ArchiveRecord(session, made: [], logs: [], date: now.date)
        made.startDate = record.startDate
        made.files = files
        made.archives = [
            ArchiveRecord.Archive(name: name, bytes: bytes, sha256: sha256, isEncrypted: plan.policy.encrypts)
        ]
        simulation.counts.archives += 1
        return .success(made)
    }

    private func upload(_ archive: ArchiveRecord.Archive, of session: SessionIdentifier, _ core: Deliveries) throws {
        uploads += 1
        require(uploads <= plan.uploads, "\(uploads) uploads are under way")
        require(claims[session] != nil, "an archive of \(session) is uploaded without its claim")
        require(try view(of: session).record?.archives.contains(archive) == true, "no record names \(archive.name)")
        // An upload that has left a killed program may still arrive.
        let (outlives, life) = (simulation.happens(0.5), life)
        let sha256 = try FinishedFile.measure(folder.directory.path.appending(archive.name)).sha256
        simulation.later(1_000_000...5_000_000_000) { [self] in
            let isAlive = isRunning && self.life == life
            guard isAlive || outlives else { return }
            let outcome = receiver.receive(archive, sha256: sha256, at: now.date)
            guard isAlive else { return }
            uploads -= 1
            core.uploaded(session, outcome, at: now)
            try perform()
        }
    }

    // MARK: log-manager

    private func ask(_ request: Deliveries.LogManagerRequest, about session: SessionIdentifier, _ core: Deliveries)
        throws
    {
        require(claims[session] != nil, "log-manager is asked about \(session) without its claim")
        require(try view(of: session).receipt != nil, "log-manager is asked about \(session) before there is a receipt")
        var isAnswered = false
        let answer = { [self, life] (outcome: Result<[LogFileOutcome.Refusal], ArchiveFailure>) throws -> Void in
            guard isRunning, self.life == life, !isAnswered else { return }
            isAnswered = true
            core.answered(session, outcome, at: now)
            try perform()
        }
        later(Self.answerLimit...Self.answerLimit) {
            try answer(.failure(.away("log-manager", after: Deliveries.awayPause)))
        }
        let (losesRequest, losesAnswer) = (isFault, isFault)
        guard let logManager = simulation.logManager, logManager.isRunning, !losesRequest else { return }
        let done = { [simulation] (result: Result<LogFileOutcome, RequestError>) -> Void in
            if losesAnswer { return }
            simulation.later(100_000...10_000_000) {
                switch result {
                case .success(let outcome): try answer(.success(outcome.refused))
                case .failure(let error):
                    try answer(
                        .failure(
                            ArchiveFailure(code: "refused", reason: "\(error)", retry: .backingOff, isRefusal: true)))
                }
            }
        }
        switch request {
        case .mark(let files, let receipt):
            try logManager.mark(files.map(\.path), receipt: receipt, files: files, done)
        case .remove(let paths):
            require(marked.contains(session), "files of \(session) go before they are marked")
            require(plan.policy.keepRecordings != .always, "files of \(session) go that are to be kept")
            try logManager.removeUploaded(paths, done)
        }
    }

    private var isFault: Bool { simulation.number(0...99) < receiver.faults }

    // MARK: Invariants

    private func checkStored(_ record: ArchiveRecord) throws {
        require(claims[record.session] != nil, "a record of \(record.session) is stored without its claim")
        require(try view(of: record.session).receipt == nil, "\(record.session) is archived though it has a receipt")
        for archive in record.archives {
            require(receiver.objects[archive.name] == nil, "\(archive.name) is made anew though the receiver has it")
        }
        made[record.session] = record.archives
    }

    private func checkStored(_ receipt: ArchiveReceipt) throws {
        let session = receipt.session
        require(claims[session] != nil, "a receipt of \(session) is stored without its claim")
        require(
            made[session] == receipt.archives.map(\.archive),
            "a receipt of \(session) names other archives than were made")
        for confirmed in receipt.archives {
            let sha256 = receiver.objects[confirmed.archive.name]
            require(
                sha256 == confirmed.archive.sha256 && sha256 == confirmed.confirmation.sha256,
                "a receipt names \(confirmed.archive.name), which the receiver has not with this hash")
        }
        if receipt.marked == nil {
            return require(!marked.contains(session), "the marks of \(session) are forgotten")
        }
        if marked.insert(session).inserted {
            let unmarked = Set((receipt.unmarked ?? []).map(\.path))
            for file in receipt.files {
                let path = "\(SessionDirectory.recordingsName)/\(session)/\(file.name)"
                guard !unmarked.contains(path), let logManager = simulation.logManager else { continue }
                require(
                    logManager.hasMarked(path) || !Directory(data).contains(path),
                    "\(path) counts as marked and is not")
            }
        }
    }

    private func check(_ event: ArchiveEvent) throws {
        let session = try SessionIdentifier(event.session)
        switch event.change {
        case .uploaded: require(try view(of: session).receipt != nil, "\(session) is uploaded without a receipt")
        case .marked, .removed: require(marked.contains(session), "\(session) counts as marked and is not")
        default: break
        }
    }

    // MARK: At rest

    /// What is not as it must be after a time without faults.
    func unrest(of sessions: [SessionIdentifier]) throws -> String? {
        for session in sessions {
            guard let directory = try? SessionDirectory.open(session, in: data), directory.hasChecksums else {
                continue
            }
            let view = try view(of: session)
            guard let receipt = view.receipt else { return "\(session) has no receipt" }
            if receipt.archives.contains(where: { receiver.objects[$0.archive.name] != $0.archive.sha256 }) {
                return "\(session) is not at the receiver"
            }
            if simulation.logManager == nil { continue }
            if receipt.marked == nil { return "\(session) is not marked" }
            // If a clock was set back, files are kept longer than configured.
            if simulation.counts.jumps > 0 { continue }
            // Marking a file that a user unmarked is refused permanently.
            let isUnmarked = receipt.files.contains { file in
                simulation.logManager?.wasUnmarked("\(SessionDirectory.recordingsName)/\(session)/\(file.name)")
                    ?? false
            }
            if plan.policy.keepRecordings != .always, receipt.removed == nil, !receipt.files.isEmpty, !isUnmarked {
                return "the files of \(session) are not removed"
            }
            if view.archiveExists != (plan.policy.keepArchives == .always) {
                return "the archive of \(session) is \(view.archiveExists ? "there" : "gone")"
            }
        }
        return nil
    }
}
