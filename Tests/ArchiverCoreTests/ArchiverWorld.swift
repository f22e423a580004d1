import Files
import HeapModule
import Messages
import Recording
import ServiceKit
import TestSupport

@testable import ArchiveStorage
@testable import ArchiverCore
@testable import Upload

/// Archivers on one data directory, with a receiver and a log manager, in virtual time. Everything follows from the seed: faults,
/// kills, and each duration. A broken rule is recorded as a violation.
final class ArchiverWorld {
    /// The faults of this world, and the settings of its archivers.
    struct Plan {
        var archivers = 1
        var sessions = 4
        var uploads = 1
        var policy = ArchivePolicy(uploads: true)
        /// Failing calls, in percent.
        var faults = 0
        /// The mean time between two kills, in seconds; nil for no kills.
        var killInterval: Int64?
        var stepsClock = false
        /// The number of sessions that are discarded, at random times.
        var discards = 0

        init() {}

        init(using random: inout SplitMix) {
            archivers = Int.random(in: 1...2, using: &random)
            sessions = Int.random(in: 1...8, using: &random)
            uploads = Int.random(in: 1...3, using: &random)
            let keeps: [KeepTime] = [.always, .time(.seconds(0)), .time(.seconds(7200))]
            policy = ArchivePolicy(
                uploads: true, encrypts: .random(using: &random),
                keepArchives: keeps.randomElement(using: &random) ?? .always,
                keepRecordings: keeps.randomElement(using: &random) ?? .always)
            faults = [0, 5, 30].randomElement(using: &random) ?? 0
            killInterval = [nil, 20, 300].randomElement(using: &random) ?? nil
            stepsClock = .random(using: &random)
            discards = Int.random(in: 0...2, using: &random)
        }
    }

    private struct Timer: Comparable {
        let time: Int64
        let order: Int
        let action: () -> Void

        static func < (one: Timer, other: Timer) -> Bool { (one.time, one.order) < (other.time, other.order) }
        static func == (one: Timer, other: Timer) -> Bool { one.order == other.order }
    }

    /// One run of an archiver process, from start to end.
    private final class Process {
        let number: Int
        let core: Deliveries
        /// When each queue has completed its tasks, on the monotonic clock.
        var freeAt: [Int64] = [0, 0, 0]
        var uploads = 0
        var makes = 0
        /// The next time at which the process wakes by itself, on the monotonic clock.
        var wakeTime = Int64.max
        var sequences: [String: Int] = [:]

        init(_ number: Int, _ core: Deliveries) {
            self.number = number
            self.core = core
        }
    }

    let plan: Plan
    private var random: SplitMix
    private(set) var now = Moment.after(0)
    private var timers = Heap<Timer>()
    private var nextOrder = 0
    private var processes: [Process?]
    private var nextProcess = 1
    /// Whether faults still happen.
    var isFaulty = true
    private(set) var violations: [String] = []
    /// Whether effects are added to `trace`, which is equal for two runs of one seed.
    var isTraced = false
    private(set) var trace: UInt64 = 0xCBF2_9CE4_8422_2325

    // The disk
    let sessions: [SessionIdentifier]
    private var ends: [SessionIdentifier: Int64] = [:]
    private var archives: [String: String] = [:]
    private var records: [SessionIdentifier: ArchiveRecord] = [:]
    private(set) var receipts: [SessionIdentifier: ArchiveReceipt] = [:]
    private var claims: [SessionIdentifier: Int] = [:]
    private(set) var files: Set<String> = []
    /// Sessions that a recorder discarded.
    private(set) var discarded: Set<SessionIdentifier> = []
    // The receiver and log-manager
    private(set) var objects: [String: String] = [:]
    private(set) var marks: Set<String> = []
    private(set) var tries: [(session: SessionIdentifier, time: Int64)] = []
    /// Overrides the plan's reply of the receiver to an archive; nil leaves it to the plan.
    var receive: (SessionIdentifier) -> UploadError? = { _ in nil }
    /// Whether the log manager refuses to remove files.
    var refusesRemovals = false
    /// When the log manager was asked to remove files, on the monotonic clock.
    private(set) var removalRequests: [Int64] = []

    init(_ plan: Plan, seed: UInt64) throws {
        self.plan = plan
        random = SplitMix(seed: seed)
        sessions = try (0..<plan.sessions).map { try SessionIdentifier("s\($0)") }
        processes = Array(repeating: nil, count: plan.archivers)
        for session in sessions {
            ends[session] = seconds(0...1800)
            files.formUnion(["a", "b"].map { "recordings/\(session)/\($0)" })
        }
    }

    // MARK: Time

    private func seconds(_ range: ClosedRange<Int64>) -> Int64 {
        Int64.random(in: range.lowerBound * 1_000_000_000...range.upperBound * 1_000_000_000, using: &random)
    }

    /// A random duration: usually milliseconds, sometimes long.
    private func duration(upTo longest: Int64 = 2) -> Int64 {
        Int.random(in: 0..<8, using: &random) == 0 ? seconds(0...longest) : seconds(0...1) / 50
    }

    private func at(_ time: Int64, _ action: @escaping () -> Void) {
        timers.insert(Timer(time: max(time, now.monotonic), order: nextOrder, action: action))
        nextOrder += 1
    }

    func run(seconds: Int64) {
        let end = now.monotonic + seconds * 1_000_000_000
        var events = 0
        while let timer = timers.min, timer.time <= end, violations.isEmpty {
            timers.removeMin()
            pass(until: timer.time)
            timer.action()
            events += 1
            if events > 2_000_000 { fail("archivers are busy without an end") }
        }
        pass(until: end)
    }

    private func pass(until time: Int64) {
        // No two clocks run at the same rate.
        let drift = Int64.random(in: 0...1000, using: &random)
        now.date = WallTime(nanosecondsSince1970: now.date.nanosecondsSince1970 + time - now.monotonic + drift)
        now.monotonic = time
    }

    // MARK: Running

    func begin() {
        for slot in processes.indices { start(slot) }
        for session in sessions {
            at(ends[session] ?? 0) { [self] in
                // An archiver misses some events.
                if Bool.random(using: &random) { tellAll { $0.ended(session, at: self.now) } }
            }
        }
        for session in sessions.prefix(plan.discards) { at(seconds(0...5400)) { self.discard(session) } }
        if let interval = plan.killInterval { at(seconds(0...2 * interval)) { self.killOne(interval) } }
        if plan.stepsClock { at(seconds(0...3600)) { self.stepClock() } }
    }

    private func discard(_ session: SessionIdentifier) {
        discarded.insert(session)
        ends[session] = nil
        files = files.filter { !$0.hasPrefix("recordings/\(session)/") }
        // An archiver misses some events.
        if Bool.random(using: &random) { tellAll { $0.ended(session, at: self.now) } }
    }

    private func killOne(_ interval: Int64) {
        guard isFaulty else { return }
        let slot = Int.random(in: processes.indices, using: &random)
        if let process = processes[slot] {
            processes[slot] = nil
            for session in sessions where claims[session] == process.number { claims[session] = nil }
            at(now.monotonic + seconds(0...30)) { self.start(slot) }
        }
        at(now.monotonic + seconds(0...2 * interval)) { self.killOne(interval) }
    }

    private func stepClock() {
        guard isFaulty else { return }
        let step = seconds(0...20_000) - 10_000_000_000_000
        now.date = WallTime(nanosecondsSince1970: now.date.nanosecondsSince1970 + step)
    }

    private func start(_ slot: Int) {
        guard processes[slot] == nil else { return }
        let core = Deliveries(
            Deliveries.Settings(
                policy: plan.policy, retries: RetryPolicy(), uploads: plan.uploads, rescanInterval: 300_000_000_000,
                logManager: "log-manager"), random: SplitMix(seed: random.next()))
        let process = Process(nextProcess, core)
        nextProcess += 1
        processes[slot] = process
        core.begin(at: now)
        perform(process)
    }

    /// A person asks every archiver to complete some sessions, or all.
    func askForTheRest(_ some: [SessionIdentifier]? = nil) {
        for session in some ?? sessions where receipts[session]?.marked == nil {
            tellAll { _ = $0.hurry(session, self.view(of: session), at: self.now) }
        }
    }

    /// A session's status in the first archiver.
    func status(of session: SessionIdentifier) -> ArchiveStatus? {
        processes[0]?.core.status(of: session, view(of: session))
    }

    private func tellAll(_ body: (Deliveries) -> Void) {
        for process in processes.compactMap(\.self) {
            body(process.core)
            perform(process)
        }
    }

    private var isFault: Bool { isFaulty && Int.random(in: 0..<100, using: &random) < plan.faults }

    private func fail(_ violation: String) { violations.append("\(violation), at \(now.monotonic) ns") }

    private func expect(_ condition: Bool, _ violation: @autoclosure () -> String) {
        if !condition { fail(violation()) }
    }

    // MARK: Effects

    private func perform(_ process: Process) {
        for effect in process.core.takeEffects() {
            if isTraced { note(effect) }
            perform(effect, process)
        }
        let deadline = process.core.nextDeadline
        guard deadline != process.wakeTime else { return }
        expect(deadline > now.monotonic, "it wakes in the past")
        process.wakeTime = deadline
        at(deadline) { [self] in
            guard isRunning(process), process.wakeTime == deadline else { return }
            process.wakeTime = .max
            process.core.wake(at: now)
            perform(process)
        }
    }

    /// Adds to the trace only what does not depend on a dictionary's order.
    private func note(_ effect: Deliveries.Effect) {
        let text =
            switch effect {
            case .notice(.log(_, let message, let metadata)): "\(message) \(metadata.count)"
            case .ask(let session, .mark(let uploads, _)): "mark \(session) \(uploads.map(\.path))"
            default: "\(effect)"
            }
        for byte in "\(now.monotonic) \(text)".utf8 { trace = (trace ^ UInt64(byte)) &* 0x100_0000_01B3 }
    }

    private enum Queue: Int { case disk, making, logManager }

    /// Carries out an effect when its queue is free, and reports the result later; a kill may come before, between or after.
    private func inTurn(
        _ process: Process, _ queue: Queue, upTo longest: Int64 = 2, _ apply: @escaping () -> (() -> Void)?
    ) {
        let start = max(now.monotonic, process.freeAt[queue.rawValue])
        let end = start + duration(upTo: longest)
        process.freeAt[queue.rawValue] = end
        at(end) { [self] in
            guard isRunning(process), let report = apply() else { return }
            report()
            perform(process)
        }
    }

    private func isRunning(_ process: Process) -> Bool { processes.contains { $0 === process } }

    private func perform(_ effect: Deliveries.Effect, _ process: Process) {
        let core = process.core
        switch effect {
        case .scan:
            inTurn(process, .disk) { [self] in
                let outcome: Result<[SessionIdentifier], RecordingError> =
                    isFault ? .failure(Self.diskError) : .success(sessions.filter { !isGone($0) })
                let left = sessions.filter { view(of: $0).isDiscarded }
                return { core.scanned(outcome, discarded: left, at: self.now) }
            }
        case .look(let session):
            inTurn(process, .disk) { [self] in
                let outcome: Result<SessionView, RecordingError> =
                    isFault ? .failure(Self.diskError) : .success(view(of: session))
                return { core.looked(session, outcome, at: self.now) }
            }
        case .claim(let session):
            inTurn(process, .disk) { [self] in
                if claims[session] != nil { return { core.claimed(session, .success(nil), at: self.now) } }
                claims[session] = process.number
                let outcome: Result<SessionView?, RecordingError> =
                    isFault ? .failure(Self.diskError) : .success(view(of: session))
                return { core.claimed(session, outcome, at: self.now) }
            }
        case .release(let session):
            inTurn(process, .disk) { [self] in
                if claims[session] == process.number { claims[session] = nil }
                return {}
            }
        case .storeRecord(let record):
            inTurn(process, .disk) { [self] in
                expectClaim(record.session, process, "stores a record")
                expect(receipts[record.session] == nil, "\(record.session) is archived though it has a receipt")
                for archive in record.archives {
                    expect(objects[archive.name] == nil, "\(archive.name) is made anew though the receiver has it")
                }
                let failure = isFault ? Self.diskError : nil
                // A record whose sync failed may exist nonetheless.
                if failure == nil || Bool.random(using: &random) { records[record.session] = record }
                return { core.stored(record.session, failure, at: self.now) }
            }
        case .storeReceipt(let receipt):
            inTurn(process, .disk) { [self] in
                let failure = isFault ? Self.diskError : nil
                if failure == nil || Bool.random(using: &random) { store(receipt, process) }
                return { core.stored(receipt.session, failure, at: self.now) }
            }
        case .find(let session, let paths):
            inTurn(process, .disk) { [self] in
                let found = Set(paths.filter(files.contains))
                return { core.found(session, .success(found), at: self.now) }
            }
        case .removeArchives(let receipt):
            inTurn(process, .disk) { [self] in
                if isFault { return { core.removedArchives(receipt.session, .failure(Self.diskError), at: self.now) } }
                return { [removed = remove(receipt, process)] in
                    core.removedArchives(receipt.session, .success(removed), at: self.now)
                }
            }
        case .discard(let session):
            inTurn(process, .disk) { [self] in
                expectClaim(session, process, "discards what is left")
                expect(discarded.contains(session), "\(session) is discarded unasked")
                if isFault { return { core.discarded(session, .failure(Self.diskError), at: self.now) } }
                let names = archives.keys.filter { isArchive($0, of: session) }.sorted()
                for name in names { archives[name] = nil }
                (records[session], receipts[session]) = (nil, nil)
                return { core.discarded(session, .success(names), at: self.now) }
            }
        case .make(let session):
            process.makes += 1
            expect(process.makes == 1, "two archives are made at a time")
            inTurn(process, .making, upTo: 60) { [self] in
                process.makes -= 1
                return { [outcome = make(session, process)] in core.made(session, outcome, at: self.now) }
            }
        case .upload(let session, let archive): upload(archive, of: session, process)
        case .forget: return
        case .ask(let session, let request): ask(request, about: session, process)
        case .notice(.publish(let event)): if let event = event as? ArchiveEvent { take(event, process) }
        case .notice: return
        }
    }

    private func expectClaim(_ session: SessionIdentifier, _ process: Process, _ what: String) {
        expect(claims[session] == process.number, "an archiver \(what) of \(session) without its claim")
    }

    private static let diskError = RecordingError(
        .noSpace, action: "write", reason: "the disk is full", advice: "Free some space.")

    // MARK: Disk

    private func isArchive(_ name: String, of session: SessionIdentifier) -> Bool {
        name == "\(session).zip" || name.hasPrefix("\(session)~")
    }

    /// Whether a discarded session has no files left.
    private func isGone(_ session: SessionIdentifier) -> Bool {
        discarded.contains(session) && records[session] == nil && receipts[session] == nil
            && !archives.keys.contains { isArchive($0, of: session) }
    }

    func view(of session: SessionIdentifier) -> SessionView {
        var view = SessionView()
        if discarded.contains(session) {
            view.isDiscarded = !isGone(session)
            return view
        }
        view.exists = true
        view.isOver = (ends[session] ?? .max) <= now.monotonic
        view.receipt = receipts[session]
        if let receipt = view.receipt {
            view.archiveExists = receipt.archives.contains { archives[$0.archive.name] == $0.archive.sha256 }
            return view
        }
        view.record = records[session]
        view.archiveExists = view.record?.archives.allSatisfy { archives[$0.name] != nil } ?? false
        return view
    }

    private func make(_ session: SessionIdentifier, _ process: Process) -> Result<ArchiveRecord, ArchiveFailure> {
        expectClaim(session, process, "makes an archive")
        if discarded.contains(session) {
            // The session's files were removed during the read, or just after it: then the archive is complete.
            guard Bool.random(using: &random) else {
                return .failure(ArchiveFailure(code: "notFound", reason: "It is gone.", retry: .never))
            }
        } else {
            expect((ends[session] ?? .max) <= now.monotonic, "\(session) is archived before its end")
        }
        expect(receipts[session] == nil && records[session] == nil, "\(session) is archived twice")
        if isFault {
            let retry: ArchiveFailure.Retry = Bool.random(using: &random) ? .never : .backingOff
            return .failure(ArchiveFailure(code: "noSpace", reason: "The disk is full.", retry: retry))
        }
        var record = ArchiveRecord(session, made: [], logs: [], date: now.date)
        let names = session.text.hasSuffix("1") ? ["\(session).zip", "\(session)~1.zip"] : ["\(session).zip"]
        record.archives = names.map { name in
            // An encrypted archive has different bytes each time.
            let number = plan.policy.encrypts ? random.next() : UInt64(name.utf8.count)
            let digits = String(number, radix: 16)
            return ArchiveRecord.Archive(
                name: name, bytes: 10, sha256: String(repeating: "0", count: 64 - digits.count) + digits,
                isEncrypted: plan.policy.encrypts)
        }
        record.files = ["a", "b"].map {
            ArchiveRecord.File(name: $0, bytes: 5, sha256: String(repeating: "0", count: 64), archive: names[0])
        }
        for archive in record.archives { archives[archive.name] = archive.sha256 }
        return .success(record)
    }

    private func store(_ receipt: ArchiveReceipt, _ process: Process) {
        let session = receipt.session
        expectClaim(session, process, "stores a receipt")
        for archive in receipt.archives {
            expect(
                objects[archive.archive.name] == archive.archive.sha256
                    && archive.confirmation.sha256 == archive.archive.sha256,
                "a receipt names \(archive.archive.name), which the receiver has not")
        }
        let paths = receipt.files.map { "recordings/\(session)/\($0.name)" }
        let unmarked = (receipt.unmarked ?? []).map(\.path)
        if receipt.marked != nil {
            expect(
                paths.allSatisfy { marks.contains($0) || unmarked.contains($0) || !files.contains($0) },
                "\(session) counts as marked and is not")
        }
        expect(receipts[session]?.marked == nil || receipt.marked != nil, "the marks of \(session) are forgotten")
        receipts[session] = receipt
        records[session] = nil
    }

    private func remove(_ receipt: ArchiveReceipt, _ process: Process) -> [ArchiveRecord.Archive] {
        expectClaim(receipt.session, process, "removes archives")
        expect(receipts[receipt.session]?.marked != nil, "archives of \(receipt.session) go before they are marked")
        expectDue(plan.policy.keepArchives, receipt)
        let gone = receipt.archives.map(\.archive).filter { archives[$0.name] != nil }
        for archive in gone { archives[archive.name] = nil }
        return gone
    }

    private func expectDue(_ keep: KeepTime, _ receipt: ArchiveReceipt) {
        // The clock may have been set back since the decision.
        if plan.stepsClock { return expect(keep != .always, "what is to be kept goes") }
        let deadline = keep.deadline(after: receipt.date)
        expect(deadline.map { $0 <= now.date } ?? false, "something of \(receipt.session) goes before its time")
    }

    // MARK: Others

    private func upload(_ archive: ArchiveRecord.Archive, of session: SessionIdentifier, _ process: Process) {
        process.uploads += 1
        tries.append((session, now.monotonic))
        expect(process.uploads <= plan.uploads, "\(process.uploads) uploads are under way")
        expectClaim(session, process, "uploads an archive")
        expect(records[session]?.archives.contains(archive) == true, "an archive is uploaded that no record names")
        // A request that was already sent may still arrive after the program is killed.
        let outlivesKill = Bool.random(using: &random)
        at(now.monotonic + duration(upTo: 300)) { [self] in
            process.uploads -= 1
            guard isRunning(process) || outlivesKill else { return }
            let outcome = receive(archive, of: session)
            guard isRunning(process) else { return }
            process.core.uploaded(session, outcome, at: now)
            perform(process)
        }
    }

    private func receive(
        _ archive: ArchiveRecord.Archive, of session: SessionIdentifier
    ) -> Result<UploadConfirmation, UploadError> {
        if let error = receive(session) { return .failure(error) }
        if isFault { return .failure(Self.refusal(using: &random)) }
        let wasThere = objects[archive.name] != nil
        expect(!wasThere || objects[archive.name] == archive.sha256, "\(archive.name) would become another object")
        objects[archive.name] = archive.sha256
        // The request succeeded, but its reply is lost.
        if isFault { return .failure(Self.refusal(using: &random)) }
        return .success(
            UploadConfirmation(
                location: "out/\(archive.name)", bytes: archive.bytes, sha256: archive.sha256, proof: .sha256,
                checksum: "", wasThere: wasThere, date: now.date))
    }

    private static func refusal(using random: inout SplitMix) -> UploadError {
        let retries: [UploadError.Retry] = [.later, .later, .later, .after(.seconds(30)), .never]
        return error(retries.randomElement(using: &random) ?? .later)
    }

    static func error(_ retry: UploadError.Retry) -> UploadError {
        UploadError(.busy, at: "out", "it is busy", advice: "Wait.", retry: retry)
    }

    private func ask(_ request: Deliveries.LogManagerRequest, about session: SessionIdentifier, _ process: Process) {
        expectClaim(session, process, "asks log-manager about files")
        let isAway = isFault
        inTurn(process, .logManager, upTo: 10) { [self] in
            if isAway {
                return {
                    process.core.answered(session, .failure(.away("log-manager", after: .seconds(10))), at: self.now)
                }
            }
            var refused: [LogFileOutcome.Refusal] = []
            expect(receipts[session] != nil, "log-manager is asked about \(session) before there is a receipt")
            switch request {
            case .mark(let uploads, _):
                for path in uploads.map(\.path) {
                    if isFault || !files.contains(path) {
                        refused.append(LogFileOutcome.Refusal(path: path, reason: "it was not seen"))
                    } else {
                        marks.insert(path)
                    }
                }
            case .remove(let paths):
                removalRequests.append(now.monotonic)
                expect(receipts[session]?.marked != nil, "files of \(session) go before they are marked")
                if let receipt = receipts[session] { expectDue(plan.policy.keepRecordings, receipt) }
                for path in paths {
                    expect(marks.contains(path), "\(path) goes without a mark")
                    if isFault || refusesRemovals {
                        refused.append(LogFileOutcome.Refusal(path: path, reason: "there was no time for it"))
                    } else {
                        files.remove(path)
                    }
                }
            }
            return { [refused] in process.core.answered(session, .success(refused), at: self.now) }
        }
    }

    private func take(_ event: ArchiveEvent, _ process: Process) {
        expect(event.sequence == process.sequences[event.session, default: 0], "an event has the wrong number")
        process.sequences[event.session, default: 0] += 1
        guard let session = try? SessionIdentifier(event.session) else { return fail("an event names no session") }
        let receipt = receipts[session]
        if discarded.contains(session) { return }
        switch event.change {
        case .uploaded: expect(receipt != nil, "\(session) counts as uploaded without a receipt")
        case .marked, .removed: expect(receipt?.marked != nil, "\(session) counts as marked and is not")
        default: return
        }
    }

    /// The violations that remain long after the last fault.
    func remaining() -> [String] {
        var remaining: [String] = []
        for session in sessions {
            if discarded.contains(session) {
                if !isGone(session) { remaining.append("something of \(session) is left") }
                continue
            }
            guard let receipt = receipts[session], receipt.marked != nil else {
                remaining.append("\(session) was not delivered")
                continue
            }
            if receipt.archives.contains(where: { objects[$0.archive.name] != $0.archive.sha256 }) {
                remaining.append("\(session) is not at the receiver")
            }
            if records[session] != nil { remaining.append("\(session) still has a record") }
            let isRemoved = plan.policy.keepRecordings != .always
            let kept = files.filter { $0.hasPrefix("recordings/\(session)/") }
            let unmarked = Set((receipt.unmarked ?? []).map(\.path))
            if isRemoved ? !kept.isSubset(of: unmarked) : kept.count != 2 {
                remaining.append("of \(session) are left: \(kept.sorted())")
            }
            if view(of: session).archiveExists != (plan.policy.keepArchives == .always) {
                remaining.append("the archive of \(session) is there, or not")
            }
        }
        if !claims.isEmpty { remaining.append("claims are left") }
        for process in processes.compactMap(\.self) where process.core.failedSessions(isRefusal: false) > 0 {
            remaining.append("an archiver reports failures that no longer matter")
        }
        let names = Set(receipts.values.flatMap { $0.archives.map(\.archive.name) })
        let wanted = objects.keys.filter { name in !discarded.contains { isArchive(name, of: $0) } }
        if Set(wanted) != names { remaining.append("the receiver has \(objects.keys.sorted())") }
        return remaining
    }
}
