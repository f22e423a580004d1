import Files
import MessageBus
import Messages
import RecorderCore
import Recording
import SystemPackage
import TestSupport

/// A recorder in virtual time: the real sessions, write-ahead log, stream files and recovery; what its engine does with them
/// is done here in the same order, with the disk's answers as late as a seed says.
final class SimulatedRecorder {
    private enum Constants {
        static let holdLimit = 1 << 20
        static let interval: Int64 = 200_000_000
        static let recoveryLimit: Int64 = 10_000_000_000
    }

    private let simulation: Simulation
    private let data: FilePath
    let disk: VirtualDisk
    private(set) var isRunning = false
    private(set) var life = 0
    private(set) var sessions: [Session] = []
    private var appender = LogAppender(log: "L1", position: 0)
    private var log: WriteAheadLog?
    private var held = HeldBytes(limit: Constants.holdLimit)
    private var pace = CommitPace(interval: Constants.interval)
    private var files: [SessionIdentifier: [LogName: StreamFile]] = [:]
    private var targets: [UInt32: (session: SessionIdentifier, log: LogName)] = [:]
    private var committing: LogBlock?
    private var isCommitPlanned = false
    private var afterCommit: [() throws -> Void] = []
    private var unwritten: [LogBlock] = []
    private var appliedEnd = 0
    private var isCheckpointing: Set<SessionIdentifier> = []
    /// How far each stream's samples are durable, as the recorder would say.
    private(set) var durable: [StreamName: (epoch: String, next: Int)] = [:]

    init(in data: FilePath, disk: VirtualDisk, of simulation: Simulation) {
        self.data = data
        self.disk = disk
        self.simulation = simulation
    }

    private var now: Moment { simulation.recorderMoment }
    private var logDirectory: Directory { WriteAheadLog.directory(in: data, shard: nil) }

    /// Does something later, unless the program has ended by then.
    private func later(_ delay: ClosedRange<Int64>, _ body: @escaping () throws -> Void) {
        simulation.later(delay) { [weak self, life] in
            guard let self, isRunning, self.life == life else { return }
            do {
                try body()
            } catch {
                // A program that ends in a call has no more to say.
                if disk.hasEnded { return simulation.recorderEnded() }
                throw error
            }
        }
    }

    // MARK: Life

    /// Starts the program, which resumes what was interrupted.
    func start() throws {
        disk.begin()
        life += 1
        if simulation.happens(0.3) { disk.end(after: simulation.number(0...12)) }
        do {
            try resume()
            isRunning = true
        } catch {
            guard disk.hasEnded else { throw error }
            simulation.counts.killsInRecovery += 1
            return simulation.recorderEnded()
        }
        // What ends in a recovery is behind it.
        disk.begin()
        later(Constants.interval...Constants.interval) { [self] in try tick() }
    }

    private func resume() throws {
        try SessionDirectory.recordings(in: data).create()
        try WriteAheadLog.sync(logDirectory)
        let directories = try SessionDirectory.sessions(in: data).map { try SessionDirectory.open($0, in: data) }
            .filter { !$0.hasChecksums }
        let recovery = try SessionRecovery(of: directories, log: logDirectory, calls: disk.calls)
        if let damage = recovery.damage { simulation.violate("the write-ahead log is damaged: \(damage)") }
        appender = LogAppender(
            log: recovery.log ?? "L\(life)", position: recovery.logEnd, segmentLength: simulation.segmentLength)
        log = WriteAheadLog(in: logDirectory, synced: recovery.logEnd, calls: disk.calls)
        held = HeldBytes(limit: Constants.holdLimit)
        pace = CommitPace(interval: Constants.interval)
        appliedEnd = recovery.logEnd
        (committing, isCommitPlanned, afterCommit, unwritten, isCheckpointing) = (nil, false, [], [], [])
        (sessions, files, targets) = ([], recovery.files, [:])
        for directory in directories {
            guard let outcome = recovery.outcomes[directory.session] else { continue }
            let recovered = try outcome.get()
            let session = try Session(
                recovered.record, recovered: recovered, in: directory, appender: appender, held: held, at: now)
            for failure in recovered.record.failures { simulation.violate("a recovery failed: \(failure)") }
            sessions.append(session)
            session.markRestart(at: now.date)
            checkDurable(session)
        }
        planCommit()
        let resumed = sessions
        simulation.later(0...0) { [weak self, life] in
            guard let self, self.life == life, isRunning else { return }
            for session in resumed {
                for stream in session.ordered where stream.intake.recovery != nil { recover(stream, of: session) }
            }
        }
    }

    /// What was called durable must be there.
    private func checkDurable(_ session: Session) {
        for stream in session.ordered {
            guard let durable = durable[stream.name], let next = stream.intake.next(of: durable.epoch) else { continue }
            if next < durable.next {
                simulation.violate(
                    "\(stream.name) had \(durable.next) samples of \(durable.epoch) durable, and has \(next)")
            }
        }
    }

    /// Ends the program at once. What it was writing is there in part.
    func kill(cutsPower: Bool) throws {
        if let block = committing {
            disk.end(after: simulation.number(0...4))
            try? log?.append(block)
        }
        // What was to be written into files may be there, too.
        if simulation.happens(0.5) {
            disk.end(after: simulation.number(0...6))
            for file in files.values.flatMap(\.values) { try? file.write() }
        }
        disk.end(after: 0)
        isRunning = false
        life += 1
        log = nil
        files = [:]
        sessions = []
        unwritten = []
        if cutsPower { try disk.cutPower() }
    }

    // MARK: Sessions

    func begin(
        _ identifier: SessionIdentifier, format: LogFormat, root: JSONRoot, from descriptions: [StreamDescription]
    )
        throws
    {
        var record = SessionRecord(
            session: identifier, task: "T", step: "s0", streams: [StreamName.everything], format: format, root: root,
            status: .starting, startDate: now.date,
            limits: SessionRecord.Limits(
                maximumFileSize: simulation.happens(0.5) ? simulation.number(2_000...200_000) : nil))
        record.logPosition = LogPosition(log: appender.log, recorded: appender.position, written: appender.position)
        let directory = try SessionDirectory.create(record, in: data)
        let session = try Session(record, in: directory, appender: appender, held: held, at: now)
        sessions.append(session)
        for description in descriptions {
            _ = try session.open(description, from: description.nextSequence, at: now) { _ in nil }
        }
        _ = session.rise(to: .running)
        planCommit()
    }

    func pauseOrResume() {
        for session in sessions where session.status == .running {
            _ = session.timeline.current.isPaused ? session.resume(at: now.date) : session.pause(at: now.date)
        }
        planCommit()
    }

    func move(to step: String) {
        for session in sessions where session.status == .running { session.move(to: step, at: now.date) }
        planCommit()
    }

    // MARK: What arrives

    func take(_ batch: SimulatedPublisher.Batch, of name: StreamName) throws {
        for session in sessions where session.isRecording {
            guard let stream = session.streams[name] else { continue }
            let outcome = try batch.frames[0].withUnsafeBytes { frame in
                let body = try SampleBody(frame)
                guard batch.frames.count > 1 else {
                    return try stream.take(ReceivedBatch(body, frame, packed: nil), at: now)
                }
                return try batch.frames[1].withUnsafeBytes {
                    try stream.take(ReceivedBatch(body, frame, packed: $0), at: now)
                }
            }
            if outcome == .recover { recover(stream, of: session) }
            _ = stream.takeNewGaps()
        }
        planCommit()
    }

    func take(_ description: StreamDescription) throws {
        for session in sessions where session.status == .running {
            guard let stream = session.streams[description.name] else {
                if session.hasClosed(description.name) { continue }
                _ = try session.open(description, from: nil, at: now) { _ in nil }
                continue
            }
            try stream.meet(description, from: nil, at: now)
            if stream.intake.expect(epoch: description.epoch, upTo: description.nextSequence) {
                recover(stream, of: session)
            }
        }
        planCommit()
    }

    // MARK: What is missing

    private func recover(_ stream: StreamRecording, of session: Session) {
        guard stream.recoveringSince == nil else { return }
        stream.recoveringSince = now.monotonic
        ask(stream, of: session, since: now.monotonic)
    }

    /// - Parameter since: when the publisher answered last, or was asked first.
    private func ask(_ stream: StreamRecording, of session: Session, since: Int64) {
        later(1_000_000...30_000_000) { [self] in
            if stream.intake.recovery?.missing.isEmpty == true { try resume(stream, of: session) }
            guard session.isRecording, let recovery = stream.intake.recovery else {
                stream.recoveringSince = nil
                return
            }
            let missing = MissingSamples(recovery, of: stream.name, at: stream.replayEndpoint(of: recovery.epoch))
            simulation.counts.replays += 1
            let life = life
            simulation.ask(missing.endpoint, missing.request) { [weak self] answer in
                guard let self, isRunning, self.life == life else { return }
                try take(answer, missing.request, stream, of: session, since: since)
            }
        }
    }

    private func take(
        _ answer: SimulatedPublisher.Answer?, _ request: SamplesReplay, _ stream: StreamRecording, of session: Session,
        since: Int64
    ) throws {
        guard session.isRecording, let recovery = stream.intake.recovery, recovery.epoch == request.epoch,
            recovery.missing.lowerBound == request.from
        else { return ask(stream, of: session, since: since) }
        switch answer {
        case .frames(let frames):
            try stream.takeReplayed(frames[...], at: now)
            // An answer that brings nothing would be asked for without end.
            if stream.intake.recovery?.missing.lowerBound == request.from { try stream.giveUp(.malformed, at: now) }
        case .nothing: try stream.giveUp(.notRetained, at: now)
        case .otherEpoch: try stream.giveUp(.epochEnded, at: now)
        case nil:
            if now.monotonic - since < Constants.recoveryLimit { return ask(stream, of: session, since: since) }
            try stream.giveUp(.publisherUnreachable, at: now)
        }
        try resume(stream, of: session)
        _ = stream.takeNewGaps()
        planCommit()
        if stream.intake.recovery == nil {
            stream.recoveringSince = nil
        } else {
            ask(stream, of: session, since: now.monotonic)
        }
    }

    private func resume(_ stream: StreamRecording, of session: Session) throws {
        try stream.resume(at: now)
        if session.status == .waitingToStop { _ = stream.intake.expectEnd() }
    }

    // MARK: Commits

    private func planCommit() {
        guard appender.count > 0, !isCommitPlanned else { return }
        isCommitPlanned = true
        let delay = max(0, pace.next(after: now.monotonic) - now.monotonic)
        later(delay...delay) { [self] in
            isCommitPlanned = false
            commit()
        }
    }

    /// Commits everything so far.
    /// - Parameters:
    ///   - look: is called when all of that is handed over and nothing after it is written.
    ///   - done: is called when it is durable.
    private func commit(_ look: @escaping () -> Void = {}, then done: @escaping () throws -> Void = {}) {
        if committing != nil {
            afterCommit.append { [self] in commit(look, then: done) }
            return
        }
        let taken = appender.takeBlock()
        look()
        guard let block = taken else { return later(0...0, done) }
        committing = block
        let places = sessions.flatMap(\.ordered).map { ($0.name, $0.log.epochs[$0.log.epoch].name, $0.log.next) }
        let began = now.monotonic
        later(simulation.syncTime) { [self] in
            try log?.append(block)
            committing = nil
            pace.note(began: began, ended: now.monotonic)
            for (name, epoch, next) in places { durable[name] = (epoch, next) }
            unwritten.append(block)
            planFiles()
            try done()
            let waiting = afterCommit
            afterCommit = []
            for next in waiting { try next() }
            planCommit()
        }
    }

    // MARK: Files

    private func planFiles() {
        later(0...50_000_000) { [self] in
            try applyAll()
            // Records wait for more of them, but not for long.
            for file in files.values.flatMap(\.values) where file.pendingBytes > 0 && simulation.happens(0.3) {
                try file.write()
            }
        }
    }

    private func applyAll() throws {
        while let block = unwritten.first {
            unwritten.removeFirst()
            var failure: (any Error)?
            block.forEachFrame { frame in
                do {
                    try apply(frame)
                } catch {
                    failure = failure ?? error
                }
            }
            if let failure { throw failure }
            appliedEnd = block.end
        }
    }

    private func apply(_ frame: LogFrame) throws {
        if let (identifier, log) = frame.name {
            guard let log, let session = sessions.first(where: { $0.identifier == identifier }) else { return }
            targets[frame.number] = (identifier, log)
            if files[identifier]?[log] == nil {
                files[identifier, default: [:]][log] = StreamFile(
                    log, in: session.directory.directory, calls: disk.calls)
            }
        } else if let target = targets[frame.number], let file = files[target.session]?[target.log],
            let session = sessions.first(where: { $0.identifier == target.session }),
            let sealed = try file.apply(frame)
        {
            try session.directory.directory.sync(calls: disk.calls)
            session.add(try sealed.certify(in: session.directory.directory), to: target.log)
        }
    }

    // MARK: Documents

    private func tick() throws {
        later(Constants.interval...Constants.interval) { [self] in try tick() }
        for session in sessions where session.isRecording {
            for stream in session.ordered { stream.log.rotateIfExpired(at: now) }
            let isDue =
                session.isFromFiles
                || CheckpointPace.isDue(
                    age: now.monotonic - session.checkpointedAt, pause: session.storePause,
                    bytes: simulation.checkpointScale * (appender.position - session.written),
                    streams: session.ordered.count, held: held.bytes)
            if isDue { checkpoint(session) } else { store(session) }
        }
        planCommit()
        planFiles()
    }

    private func store(_ session: Session, then done: @escaping () throws -> Void = {}) {
        let began = now.monotonic
        guard let record = session.takeStorable(at: began) else { return later(0...0, done) }
        commit(then: { [self] in
            later(1_000_000...80_000_000) { [self] in
                if session.isRecording {
                    try session.directory.write(record, calls: disk.calls)
                    session.finishStoring(record, began: began, at: now.monotonic)
                } else {
                    session.finishStoring(nil, began: began, at: now.monotonic)
                }
                try done()
            }
        })
    }

    private func checkpoint(_ session: Session) {
        guard isCheckpointing.insert(session.identifier).inserted else { return }
        session.checkpointedAt = now.monotonic
        simulation.counts.checkpoints += 1
        var places: [StreamName: DurablePlace] = [:]
        var position = 0
        commit { [self] in
            places = session.places
            if simulation.happens(0.5) { appender.beginSegment() }
            position = appender.position
        } then: { [self] in
            for stream in session.ordered { stream.holdOn() }
            commit(then: { [self] in
                later(0...20_000_000) { [self] in
                    try applyAll()
                    for file in (files[session.identifier] ?? [:]).values {
                        try file.write()
                        try file.beginSync()?.sync()
                        try file.noteSync(nil)
                    }
                    session.note(durable: places, before: position)
                    store(session) { [self] in
                        if session.isFromFiles, session.stored == position { session.isFromFiles = false }
                        isCheckpointing.remove(session.identifier)
                        try removeLog()
                    }
                }
            })
        }
    }

    /// Deletes what of the log no session needs, once what is being written into it is there: one thread does both.
    private func removeLog() throws {
        if committing != nil { return afterCommit.append { [self] in try removeLog() } }
        let needed = sessions.map(\.stored).min() ?? .max
        _ = try log?.remove(before: min(needed, appliedEnd), current: appender.segment)
    }

    // MARK: Ends

    /// Asks for what is missing of a session that stops, with what publishers say of where they stand.
    func stop(_ session: Session, _ descriptions: [StreamDescription]) throws {
        _ = session.rise(to: .waitingToStop)
        for description in descriptions {
            guard let stream = session.streams[description.name] else { continue }
            try stream.meet(description, from: nil, at: now)
            stream.end(description)
        }
        planCommit()
    }

    /// - Returns: whether everything is there.
    func settle(_ session: Session) -> Bool {
        for stream in session.ordered where stream.intake.expectEnd() { recover(stream, of: session) }
        return session.ordered.allSatisfy(\.intake.isComplete)
    }

    /// Finishes a session's files.
    func close(_ session: Session) throws -> SessionRecord {
        _ = session.rise(to: .processingResults)
        session.end(at: now.date)
        for stream in session.ordered {
            while true {
                try stream.resume(at: now)
                guard stream.intake.recovery != nil || stream.intake.expectEnd() else { break }
                try stream.giveUp(.publisherUnreachable, at: now)
            }
            stream.noteUnknownEnds(at: now.date)
            stream.close(at: now.date)
        }
        if let block = committing {
            try log?.append(block)
            unwritten.append(block)
            committing = nil
        }
        if let block = appender.takeBlock() {
            try log?.append(block)
            unwritten.append(block)
        }
        try applyAll()
        let record = session.finish()
        try session.directory.write(session.report, calls: disk.calls)
        try session.directory.write(record, calls: disk.calls)
        try session.directory.writeChecksums(known: record.logs.flatMap(\.files))
        return record
    }
}
