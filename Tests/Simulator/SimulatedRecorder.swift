import Files
import MessageBus
import Messages
import RecorderCore
import Recording
import ServiceKit
import SystemPackage
import TestSupport

/// A recorder in virtual time: all decisions of the real one, its write-ahead log, stream files and recovery. The simulation
/// carries out its effects after delays that the seed determines.
final class SimulatedRecorder: WakingProgram {
    private enum Constants {
        static let holdLimit = 1 << 20
        static let interval: Int64 = 100_000_000
        /// The loss allowed after a power cut, in nanoseconds.
        static let allowedLoss: Int64 = 200_000_000
    }

    /// How long missing samples are requested without success, in nanoseconds.
    static let recoveryLimit: Int64 = 10_000_000_000

    let simulation: Simulation
    private let data: FilePath
    let disk: VirtualDisk
    private(set) var isRunning = false
    private(set) var life = 0
    /// The time of the last start.
    private(set) var startedAt: Int64 = 0
    private var core: Recordings
    private var log: WriteAheadLog?
    private var files: SessionFiles
    /// The block being made durable.
    private var appending: LogBlock?
    private var lanes: EffectLanes?
    /// The arrival of the oldest bytes that no commit has taken, and of the oldest in the current commit.
    private var uncommittedSince: Int64?
    private var committingSince: Int64?
    /// Answers that wait for a block to be durable.
    private var answers: [(block: Int, done: () -> Void)] = []
    private var replays: SimulatedReplayClient?
    /// Whether the power is cut if the program ends in a call.
    private var cutsPowerAtEnd = false
    /// The durable progress of each publisher run, as the recorder would report it.
    private(set) var durable: [SessionIdentifier: [StreamName: [String: Int]]] = [:]
    /// The gaps that were published, by session and stream, in all lives.
    private var publishedGaps: [String: [StreamName: Set<Gap.Extent>]] = [:]
    /// When sessions failed that have not been resumed since.
    private var failed: [String: Int64] = [:]
    /// The times for which failed sessions were not recorded: if the disk refuses to store the failure, the recorder resumes them
    /// after a kill, with what publishers still have.
    private(set) var failures: [String: [Range<Int64>]] = [:]

    init(in data: FilePath, disk: VirtualDisk, of simulation: Simulation) {
        self.data = data
        self.disk = disk
        self.simulation = simulation
        core = Self.core(log: "L1", position: 0, of: simulation)
        files = SessionFiles(in: data, calls: disk.calls)
    }

    private static func core(log: String, position: Int, of simulation: Simulation) -> Recordings {
        Recordings(
            Recordings.Settings(
                syncInterval: Constants.interval, recoveryLimit: Self.recoveryLimit,
                holdLimit: Constants.holdLimit, minimumFree: 0, shard: nil),
            log: log, position: position, segmentLength: simulation.segmentLength,
            checkpointScale: simulation.checkpointScale)
    }

    /// Whether every session is over, and its end is stored.
    var isDone: Bool { isRunning && core.sessions.isEmpty && core.unstored.isEmpty }

    var sessions: [Session] { core.sessions.values.sorted { $0.identifier < $1.identifier } }

    /// Whether an event named a gap.
    func hasPublished(_ gap: Gap, of stream: StreamName, in session: SessionIdentifier) -> Bool {
        publishedGaps[session.text]?[stream]?.contains(gap.extent) ?? false
    }

    /// The next scheduled wake-up, on the monotonic clock.
    var wakeTime = Int64.max

    private var logDirectory: Directory { WriteAheadLog.directory(in: data, shard: nil) }

    func fail(with error: any Error) throws {
        // An error of a program that ended in a call is irrelevant.
        if disk.hasEnded { return try endInCall(cutsPower: cutsPowerAtEnd) }
        throw error
    }

    // MARK: Life

    func start() throws {
        disk.begin()
        life += 1
        startedAt = simulation.now
        if simulation.happens(0.3) { disk.end(after: simulation.number(0...12)) }
        do {
            try resume()
        } catch {
            guard disk.hasEnded else { throw error }
            simulation.counts.killsInRecovery += 1
            let faults = simulation.faults
            return try endInCall(cutsPower: faults.moments && faults.powerCuts && simulation.happens(0.3))
        }
        // The end scheduled for the recovery no longer applies.
        disk.begin()
        isRunning = true
        perform()
    }

    private func resume() throws {
        try SessionDirectory.recordings(in: data).create()
        try WriteAheadLog.sync(logDirectory, calls: disk.calls)
        let directories = try SessionDirectory.sessions(in: data).map { try SessionDirectory.open($0, in: data) }
            .filter { !$0.hasChecksums }
        let recovery = try SessionRecovery(of: directories, log: logDirectory, calls: disk.calls)
        // A log that the disk refused may end before the files.
        if let damage = recovery.damage {
            simulation.note("the write-ahead log is damaged: \(damage)".replacing(data.string + "/", with: ""))
            if simulation.counts.failures == 0 { simulation.violate("\(damage)") }
        }
        core = Self.core(log: recovery.log ?? "L\(life)", position: recovery.logEnd, of: simulation)
        log = WriteAheadLog(in: logDirectory, synced: recovery.logSynced, calls: disk.calls)
        (appending, answers) = (nil, [])
        lanes = EffectLanes(
            later: { [unowned self] delay, body in later(delay, body) }, afterEach: { [unowned self] in perform() })
        (uncommittedSince, committingSince, wakeTime) = (nil, nil, .max)
        files = SessionFiles(in: data, calls: disk.calls)
        replays = makeReplayClient(of: .recorder, limit: Self.recoveryLimit)
        for directory in directories {
            guard let outcome = recovery.outcomes[directory.session] else { continue }
            let recovered = try outcome.get()
            files.add(recovery.files[directory.session] ?? [:], of: directory)
            for failure in recovered.record.failures {
                simulation.note("\(directory.session): \(failure)".replacing(data.string + "/", with: ""))
            }
            try checkLengths(of: recovered, in: directory)
            try core.resume(recovered, in: directory, at: now)
            if let session = core.sessions[directory.session] { checkDurable(session) }
            let isContinued = core.sessions[directory.session]?.isRecording == true
            if isContinued, let since = failed.removeValue(forKey: directory.session.text) {
                failures[directory.session.text, default: []].append(since..<simulation.now)
            }
        }
        core.advance(at: now)
    }

    /// Each file must end at the end of the records that the recorder knows: torn bytes after them must be gone.
    private func checkLengths(of recovered: RecoveredSession, in directory: SessionDirectory) throws {
        for log in recovered.record.logs {
            guard let known = recovered.logs[log.name]?.file, let name = log.file else { continue }
            let path = directory.directory.path.appending(name)
            let length = try OpenFile(path, .readOnly, action: "read").byteCount()
            simulation.counts.lengths += 1
            if length != known.bytes {
                simulation.violate("\(name) has \(length) bytes after a recovery, and not \(known.bytes)")
            }
        }
    }

    /// What was reported as durable must be there. The progress of samples that are left out is in the write-ahead log alone, and
    /// unknown if the disk refused that.
    private func checkDurable(_ session: Session) {
        if simulation.counts.failures > 0, session.record.hasLeftOut { return }
        for stream in session.ordered {
            for (epoch, durable) in durable[session.identifier]?[stream.name] ?? [:] {
                simulation.counts.durable += 1
                let next = stream.intake.next(of: epoch) ?? 0
                if next < durable {
                    simulation.violate("\(stream.name) had \(durable) samples of \(epoch) durable, and has \(next)")
                }
            }
        }
    }

    /// Ends the program in one of its next calls.
    func end(after calls: Int, cutsPower: Bool) {
        guard isRunning else { return }
        disk.end(after: calls)
        cutsPowerAtEnd = cutsPower
        simulation.note("the recorder is to end after \(calls) calls")
    }

    /// Ends the program after its last call.
    private func endInCall(cutsPower: Bool) throws {
        isRunning = false
        life += 1
        log = nil
        if cutsPower { try disk.cutPower() }
        try simulation.recorderEnded(cutsPower: cutsPower)
    }

    /// Kills the program. The data being written is there in part.
    func kill(cutsPower: Bool) throws {
        if let appending {
            disk.end(after: simulation.number(0...4))
            try? log?.append(appending)
        }
        // Data that was to be written into files may be there, too.
        if simulation.happens(0.5) {
            disk.end(after: simulation.number(0...6))
            files.writeAll()
        }
        disk.end(after: 0)
        isRunning = false
        life += 1
        log = nil
        if cutsPower { try disk.cutPower() }
    }

    // MARK: Sessions

    /// Begins a session.
    /// - Parameters:
    ///   - before: the nanoseconds of the past that the session includes.
    ///   - done: is called when the session would survive a power cut.
    func begin(
        _ identifier: SessionIdentifier, before: Int64, format: LogFormat, root: JSONRoot,
        from descriptions: [StreamDescription],
        _ configurations: LogConfigurations.Answers, _ done: @escaping () -> Void
    ) throws {
        var record = SessionRecord(
            session: identifier, task: "T", step: "s0", streams: [StreamName.everything], format: format, root: root,
            status: .starting, startDate: now.date.adding(-before),
            limits: SessionRecord.Limits(
                maximumFileSize: simulation.happens(0.5) ? simulation.number(2_000...200_000) : nil,
                before: before > 0 ? Double(before) / 1e9 : nil))
        record.logPosition = core.logPosition
        record.isFormatDefault = true
        // Every other session records one device only in some steps.
        if simulation.faults.pauses, simulation.counts.sessions % 2 == 0, let device = descriptions.first?.device {
            let starts = simulation.counts.sessions % 4 == 0
            record.choose([
                StreamChoice(StreamName.everything),
                StreamChoice("\(device)/", fromStep: starts ? "s2" : nil, toStep: starts ? "s3" : "s0"),
            ])
        }
        core.configured(configurations, at: now)
        let session = try core.add(record, in: SessionDirectory.create(record, in: data), at: now)
        core.open(descriptions, of: session, at: now)
        _ = core.begin(session)
        answers.append((core.commitNow(at: now), done))
        perform()
    }

    /// Pauses or resumes sessions or one of their streams.
    /// - Parameter done: is called for each session when the change would survive a power cut.
    func pauseOrResume(_ done: @escaping (SessionRecord) -> Void) throws {
        for session in sessions where session.status == .running {
            let (streams, pauses) = (session.ordered.map(\.name), session.record.pauses)
            let open = pauses.last { $0.to == nil }
            // First all streams, then each of them; sometimes two pauses at once.
            let index = pauses.count % (streams.count + 1)
            let stream = index == 0 ? nil : streams[index - 1]
            if let open, pauses.count % 3 != 0 {
                _ = try session.resume(open.stream, at: now)
            } else if !(try session.pause(stream, at: now)) {
                _ = try session.resume(stream, at: now)
            }
        }
        answerChanges(done)
    }

    func move(to step: String, _ done: @escaping (SessionRecord) -> Void) {
        for session in sessions where session.status == .running { session.move(to: step, at: now) }
        answerChanges(done)
    }

    /// - Parameter age: nanoseconds since the annotated event.
    func annotate(_ label: String, age: Int64, _ done: @escaping (SessionRecord) -> Void) throws {
        let from = WallTime(nanosecondsSince1970: now.date.nanosecondsSince1970 - age)
        for session in sessions where session.status == .running {
            // The time may precede a session that began later.
            let from = max(from, session.record.startDate)
            let request = RecordingAnnotate(session: session.identifier.text, label: label, from: from)
            _ = try session.annotate(request, at: now)
        }
        answerChanges(done)
    }

    private func answerChanges(_ done: @escaping (SessionRecord) -> Void) {
        let block = core.commitNow(at: now)
        for session in sessions where session.status == .running {
            answers.append((block, { [record = session.record] in if session.status != .failed { done(record) } }))
        }
        perform()
    }

    /// Ends a session.
    /// - Returns: false if it is not running.
    func stop(_ identifier: SessionIdentifier) -> Bool {
        guard isRunning, let status = core.sessions[identifier]?.status else { return false }
        // A client without an answer repeats its request.
        guard status == .running || simulation.happens(0.2) else { return false }
        core.stop(identifier, at: now)
        perform()
        return true
    }

    // MARK: Arriving messages

    func take(_ event: SimulatedPublisher.Event) throws {
        switch event {
        case .samples(let batch): try batch.withFrames { _ = try core.take($0, at: now) }
        case .description(let description): core.take(description, at: now)
        }
        core.endBatches(at: now)
        perform()
    }

    var nextDeadline: Int64 { core.nextDeadline }

    func wake() {
        core.wake(at: now)
        perform()
    }

    // MARK: Effects

    private func perform() {
        if core.hasUncommitted { uncommittedSince = uncommittedSince ?? now.monotonic }
        var effects: [Recordings.Effect] = []
        if core.takeEffects(into: &effects) { for effect in effects { perform(effect) } }
        checkAge()
        if !answers.isEmpty {
            for answer in answers where core.isCommitted(answer.block) { answer.done() }
            answers.removeAll { core.isCommitted($0.block) }
        }
        planWake()
    }

    /// Checks that accepted samples become durable soon, whatever else the recorder does.
    private func checkAge() {
        guard isRunning, let oldest = committingSince ?? uncommittedSince else { return }
        let age = now.monotonic - oldest
        simulation.counts.oldestUncommitted = max(simulation.counts.oldestUncommitted, age)
        if age > Constants.allowedLoss { simulation.violate("what came \(age / 1_000_000) ms ago is not durable") }
    }

    private func perform(_ effect: Recordings.Effect) {
        switch effect {
        case .append(let block):
            appending = block
            (committingSince, uncommittedSince) = (uncommittedSince, core.hasUncommitted ? now.monotonic : nil)
            // A failed session's data goes into its files without the log.
            let places = core.sessions.filter { $0.value.status < .failed }.mapValues { session in
                session.streams.mapValues(Self.places)
            }
            order(in: "log", simulation.syncTime) { [self] in
                let failure = try attempt { () throws(RecordingError) in try log?.append(block) }
                appending = nil
                committingSince = nil
                // Data that the disk refused, and data that waited for it, goes into files without the log.
                if failure == nil { durable.merge(places) { $1 } } else { uncommittedSince = nil }
                core.appended(failure, at: now)
            }
        case .removeLog(let position, let current):
            order(in: "log", 0...5_000_000) { [self] in
                var left: Int?
                _ = try attempt { () throws(RecordingError) in
                    left = try log?.remove(before: position, current: current)
                }
                core.removedLog(left)
                passMoment()
            }
        case .write(let block):
            order(in: "files", writeTime) { [self] in try wrote(files.apply(block, at: now.monotonic)) }
        case .writeDue: order(in: "files", writeTime) { [self] in try wrote(files.writeDue(at: now.monotonic)) }
        case .forget(let session): order(in: "files", 0...1_000_000) { [self] in files.forget(session) }
        case .rebuild(let directory, let failures):
            order(in: "files", 0...50_000_000) { [self] in
                let outcome = files.finish(directory, log: logDirectory, failures: failures)
                if disk.hasEnded, case .failure(let failure) = outcome { throw failure }
                core.rebuilt(directory.session, outcome, at: now)
            }
        case .sync(let session):
            simulation.counts.checkpoints += 1
            order(in: "syncs", 0...20_000_000) { [self] in sync(session) }
        case .store(let record, let directory):
            order(in: "documents", 1_000_000...80_000_000) { [self] in
                core.stored(
                    try attempt { () throws(RecordingError) in try directory.write(record, calls: disk.calls) }, at: now
                )
                passMoment()
            }
        case .conclude(let record, let report, let directory):
            order(in: "documents", 1_000_000...80_000_000) { [self] in
                let failure = try attempt { () throws(RecordingError) in
                    try directory.write(report, calls: disk.calls)
                    try directory.write(record, calls: disk.calls)
                    try directory.writeChecksums(known: record.logs.flatMap(\.files), calls: disk.calls)
                }
                core.concluded(record, failure, at: now)
            }
        case .removeJournal(let directory): directory.removeJournal()
        case .removeFiles(let directory, let files, let date):
            order(in: "documents", 1_000_000...20_000_000) { [self] in
                let outcome = Result { () throws(RecordingError) in
                    try directory.remove(files, reason: RemovedFile.ring, at: date)
                }
                core.removedFiles(outcome, at: now)
            }
        case .recover(let session, let stream): recover(stream, of: session)
        case .list(let session, _, let endpoints, _):
            simulation.list(.recorder, endpoints) { [self, life] descriptions in
                guard isRunning, self.life == life else { return }
                simulation.noteEnd(of: session, descriptions)
                core.listed(session, descriptions, at: now)
                perform()
            }
        case .compareClocks(let session, _, let isLast):
            later(1_000_000...30_000_000) { [self] in
                core.compared(session, [], isLast: isLast, at: now)
                perform()
            }
        case .configure: configure()
        case .notice(.malformed(let error)): simulation.violate("a message can't be read: \(error)")
        case .notice(.log(_, let message, let metadata)):
            let details = metadata.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
            let line = "recorder: \(message) \(details.joined(separator: " "))"
            simulation.note(line.replacing(data.string + "/", with: ""))
        case .notice(.publish(let event)):
            if let segment = event as? SegmentFinished { simulation.announce([segment], []) }
            if let event = event as? RecordingEvent {
                if event.change == .failure { failed[event.session] = failed[event.session] ?? simulation.now }
                if let gap = event.gap, let stream = event.stream {
                    publishedGaps[event.session, default: [:]][stream, default: []].insert(gap.extent)
                }
                simulation.announce([], [event])
            }
        case .dispose, .unsubscribe, .release, .restoreReserves, .lookAtDisk, .notice, .ended: break
        }
    }

    /// The progress of each run in the log, including samples given up.
    private static func places(of stream: StreamRecording) -> [String: Int] {
        let epochs = stream.log.epochs
        var places = [epochs[stream.log.epoch].name: stream.log.next]
        for index in epochs.indices where index != stream.log.epoch {
            places[epochs[index].name] = stream.intake.next(of: epochs[index].name)
        }
        return places
    }

    /// Most writes only reach the system's memory, which takes less time than a commit.
    private var writeTime: ClosedRange<Int64> { simulation.happens(0.98) ? 0...2_000_000 : 0...100_000_000 }

    /// Schedules an effect after the earlier ones of its lane.
    private func order(in name: String, _ delay: ClosedRange<Int64>, _ body: @escaping () throws -> Void) {
        lanes?.add(to: name, delay, body)
    }

    /// - Returns: the error, if any. Throws it if the program ended in the call.
    private func attempt(_ body: () throws(RecordingError) -> Void) throws -> RecordingError? {
        let failure = RecordingError.thrown(by: body)
        if let failure, disk.hasEnded { throw failure }
        return failure
    }

    /// Requests the configurations of logs from log-manager.
    private func configure() {
        later(1_000_000...30_000_000) { [self] in
            let names = core.unknownLogs(at: now)
            simulation.configurations(of: names.sorted { $0.text < $1.text }) { [weak self, life] answers in
                guard let self, isRunning, self.life == life else { return }
                core.configured(answers, at: now)
                perform()
            }
        }
    }

    /// Call this after rare actions: the program may end right after it.
    private func passMoment() {
        guard simulation.isMoment() else { return }
        // Either at once, before the disk has the data, or later.
        let delay: ClosedRange<Int64> = simulation.happens(0.5) ? 0...20_000_000 : 0...600_000_000
        later(simulation.happens(0.3) ? 0...0 : delay) { [self] in
            try simulation.killRecorder(cutsPower: simulation.faults.powerCuts && simulation.happens(0.5))
        }
    }

    // MARK: Missing samples

    private func recover(_ name: StreamName, of session: SessionIdentifier) {
        replays?.recover(
            ReplayedStream(
                missing: { [self] in
                    defer { perform() }
                    return core.missing(name, in: session, at: now)
                },
                heardSince: { [self] in core.heardSince(name, at: now) },
                take: { [self] reply, frames, request in
                    defer { perform() }
                    return core.take(frames, count: reply.count, for: request, in: session, at: now)
                },
                giveUp: { [self] request, reason in
                    defer {
                        perform()
                        passMoment()
                    }
                    return core.giveUp(request, reason: reason, in: session, at: now)
                },
                putOff: { [self] in core.putOff(in: session) }))
    }

    // MARK: Files

    private func wrote(_ outcome: SessionFiles.Outcome) throws {
        // An error of a program that ended in a call is irrelevant.
        if disk.hasEnded, let failure = outcome.failures.values.first { throw failure }
        core.wrote(outcome, at: now)
    }

    /// Begins to sync a session's files, and completes that later, unless the end of a file comes first.
    private func sync(_ session: SessionIdentifier) {
        let sync = files.beginSync(of: session) { files in
            files.map { file in { RecordingError.thrown { () throws(RecordingError) in try file.sync() } } }
        }
        later(0...50_000_000) { [self] in
            let failure = files.endSync(sync, of: session)
            if disk.hasEnded, let failure { throw failure }
            core.synced(session, failure, at: now)
            perform()
            passMoment()
        }
    }
}
