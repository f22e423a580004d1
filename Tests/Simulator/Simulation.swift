import Foundation
import Messages
import RecorderCore
import Recording
import SystemPackage
import TestSupport

/// One run: publishers, the connections to them, a recorder, its disk, and faults, in virtual time and from one seed.
final class Simulation {
    struct Counts: Equatable {
        var kills = 0
        var killsInRecovery = 0
        var powerCuts = 0
        var publisherKills = 0
        var sessions = 0
        var cuts = 0
        var failures = 0
        var drops = 0
        var replays = 0
        var checkpoints = 0
        var samples = 0
        var lost = 0
        var published = 0
        /// What was judged: sessions, the logs of streams, and places that were durable before.
        var judged = 0
        var logs = 0
        var durable = 0
        /// Nanoseconds for which the oldest bytes waited to be durable.
        var oldestUncommitted: Int64 = 0
    }

    /// What is simulated, as far as no seed decides it.
    struct Size {
        var seconds = 60
        var publishers: Int?
        /// Of each publisher.
        var streams: Int?
        /// Samples per second of each stream.
        var rate: Double?
        /// Whether calls of the disk fail now and then.
        var hasFailingCalls = false
    }

    /// Which faults a run has: each seed leaves some out, so that others meet conditions that they would not.
    struct Faults {
        var kills = true
        var powerCuts = true
        var publisherKills = true
        var cuts = true
        var drops = true
        var pauses = true
        var failures = true
        /// Nanoseconds from one to the next.
        var pause: ClosedRange<Int64> = 1_000_000_000...6_000_000_000
    }

    /// A session, as somebody who asks for it knows it.
    private struct Asked {
        let began: Int64
        /// When the recorder had answered, so that the session must be there.
        var isAnswered = false
        /// Of each stream the epoch and the sample with which it begins.
        let firsts: [StreamName: Oracle.Place]
        /// When it was stopped, and where the streams of those publishers were who could be asked.
        var lasts: [StreamName: Oracle.Place]?
    }

    /// Nanoseconds between two looks at who is heard.
    private static let listening: Int64 = 50_000_000
    /// Nanoseconds in which a recorder that hears a publisher must have what it misses.
    private static let patience: Int64 = 4_000_000_000
    /// Events of one moment.
    private static let eventLimit = 100_000
    /// Nanoseconds since 1970 at virtual time 0.
    static let start: Int64 = 1_800_000_000_000_000_000

    let faults: Faults
    let segmentLength: Int
    let checkpointScale: Int
    let syncTime: ClosedRange<Int64>
    var counts = Counts()
    private(set) var violations: [String] = []
    /// What was done to the programs, for people who look for a reason.
    private(set) var course: [String] = []
    private var random: SplitMix
    private var schedule = Schedule()
    private var oracle = Oracle()
    private var publishers: [SimulatedPublisher] = []
    private var connections: [Connection] = []
    private var recorder: SimulatedRecorder?
    private var disk: VirtualDisk?
    private let data: FilePath
    private let size: Size
    private let skipped: Set<Int>
    /// How many faults there were, those that were left out included.
    private(set) var faultCount = 0
    private var asked: [SessionIdentifier: Asked] = [:]
    private var isOver = false
    /// When the recorder heard everything of a publisher, and could ask it, by publisher.
    private var hearing: [[Range<Int64>]] = []
    private let format: LogFormat
    private let root: JSONRoot

    /// - Parameter skipped: the numbers of faults that are left out.
    init(seed: UInt64, size: Size, skipping skipped: Set<Int> = [], in data: FilePath) {
        self.size = size
        self.skipped = skipped
        self.data = data
        var random = SplitMix(seed: seed)
        func happens(_ chance: Double) -> Bool { random.unit() < chance }
        faults = Faults(
            kills: happens(0.8), powerCuts: happens(0.6), publisherKills: happens(0.6), cuts: happens(0.5),
            drops: happens(0.5), pauses: happens(0.5), failures: size.hasFailingCalls && happens(0.5),
            pause: happens(0.3) ? 50_000_000...1_500_000_000 : 1_000_000_000...6_000_000_000)
        segmentLength = happens(0.5) ? 64 << 20 : Int.random(in: 4_000...200_000, using: &random)
        // A checkpoint after so many times fewer bytes than the real one, for runs are short.
        checkpointScale = happens(0.5) ? 1 : Int.random(in: 10...4_000, using: &random)
        syncTime = happens(0.7) ? 300_000...3_000_000 : 500_000...20_000_000
        (format, root) =
            [(.json, .array), (.json, .dictionary), (.csv, .array), (.tsv, .array)][
                Int.random(in: 0...3, using: &random)]
        self.random = random
    }

    // MARK: Chance and time

    func happens(_ chance: Double) -> Bool { random.unit() < chance }
    func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &random) }

    var recorderMoment: Moment {
        Moment(
            monotonic: schedule.now + 1_000_000_000_000,
            date: WallTime(nanosecondsSince1970: Self.start + schedule.now))
    }

    func later(_ delay: ClosedRange<Int64>, _ body: @escaping () throws -> Void) {
        let time = schedule.now + Int64.random(in: delay, using: &random)
        schedule.add(at: time, order: random.next(), body)
    }

    func violate(_ text: String) { violations.append(timed(text)) }

    func note(_ text: String) { course.append(timed(text)) }

    private func timed(_ text: String) -> String { "at \(Double(schedule.now) / 1e9) s: \(text)" }

    // MARK: The run

    /// Runs to the end, and judges what was recorded.
    func run() throws {
        let attic = data.appending("attic")
        try FileManager.default.createDirectory(atPath: attic.string, withIntermediateDirectories: true)
        let disk = VirtualDisk(attic: attic, random: SplitMix(seed: random.next()))
        self.disk = disk
        defer { disk.close() }
        let recorder = SimulatedRecorder(in: data.appending("data"), disk: disk, of: self)
        self.recorder = recorder
        let publisherCount = number(1...3)
        for index in 0..<(size.publishers ?? publisherCount) { addPublisher(index) }
        try startRecorder()
        later(500_000_000...1_500_000_000) { [self] in try beginSession() }
        if happens(0.3) { later(2_000_000_000...20_000_000_000) { [self] in try beginSession() } }
        listen()
        planFaults()
        try advance(until: Int64(size.seconds) * 1_000_000_000)
        isOver = true
        try finish()
    }

    private func advance(until end: Int64) throws {
        var (time, events) = (schedule.now, 0)
        while violations.isEmpty, let event = schedule.next(until: end) {
            (time, events) = schedule.now > time ? (schedule.now, 0) : (time, events + 1)
            if events > Self.eventLimit { violate("a moment does not pass") }
            try event()
        }
    }

    private func addPublisher(_ index: Int) {
        var plan = SimulatedPublisher.Plan(
            device: "device-\(index)", streams: number(1...3), rate: [10.0, 50, 100][number(0...2)],
            batch: [1, 5, 10][number(0...2)], isPacked: happens(0.5), isRebatching: happens(0.5),
            retention: happens(0.7) ? 600_000_000_000 : Int64(number(2...20)) * 1_000_000_000,
            uptime: Int64(number(1_000...100_000)) * 1_000_000_000,
            ahead: happens(0.5) ? 0 : Int64(number(-500...500)) * 1_000_000)
        plan.streams = size.streams ?? plan.streams
        plan.rate = size.rate ?? plan.rate
        // Some say only now and then what they sampled.
        if size.rate == nil, happens(0.2) { plan.batch = Int(plan.rate) * number(2...8) }
        let publisher = SimulatedPublisher(plan, number: index)
        publishers.append(publisher)
        connections.append(Connection())
        hearing.append([])
        start(index)
    }

    private func start(_ index: Int) {
        let publisher = publishers[index]
        let words = (0..<2).map { _ in String(random.next(), radix: 16) }
        publisher.start(at: schedule.now, epoch: words.joined(separator: "-"), oracle: &oracle)
        note("\(publisher.plan.device) starts, epoch \(publisher.epoch)")
        connections[index].standsFrom = schedule.now + Int64(number(20_000_000...200_000_000))
        planBatch(index, publisher.life)
        describe(index, publisher.life)
    }

    /// Notes who is heard, again and again.
    private func listen() {
        later(Self.listening...Self.listening) { [self] in
            for index in publishers.indices {
                let isHeard =
                    publishers[index].isRunning && recorder?.isRunning == true
                    && connections[index].delivers(at: schedule.now)
                guard isHeard else { continue }
                let began = schedule.now - Self.listening
                if let last = hearing[index].last, last.upperBound >= began {
                    hearing[index][hearing[index].count - 1] = last.lowerBound..<schedule.now
                } else {
                    hearing[index].append(schedule.now..<schedule.now)
                }
            }
            listen()
        }
    }

    /// Whether the recorder had the time to get a sample that its publisher had for a while.
    private func couldHave(_ index: Int, from time: Int64, to end: Int64) -> Bool {
        hearing[index].contains { min($0.upperBound, end) - max($0.lowerBound, time) >= Self.patience }
    }

    private func planBatch(_ index: Int, _ life: Int) {
        let publisher = publishers[index]
        schedule.add(at: publisher.nextBatch, order: random.next()) { [self] in
            guard publisher.isRunning, publisher.life == life else { return }
            for (stream, batch) in publisher.publish(at: schedule.now, oracle: &oracle) {
                counts.published += batch.count
                send(index) { [self] in try recorder?.take(batch, of: stream) }
            }
            planBatch(index, life)
        }
    }

    private func describe(_ index: Int, _ life: Int) {
        later(1_000_000_000...1_000_000_000) { [self] in
            let publisher = publishers[index]
            guard publisher.isRunning, publisher.life == life else { return }
            for description in publisher.describe(at: schedule.now) {
                send(index) { [self] in recorder?.take(description) }
            }
            describe(index, life)
        }
    }

    /// Sends something to the recorder, which hears it later if nothing is in the way.
    private func send(_ index: Int, _ body: @escaping () throws -> Void) {
        guard let recorder, recorder.isRunning, connections[index].delivers(at: schedule.now) else { return }
        let life = recorder.life
        let time = connections[index].arrival(sentAt: schedule.now, delay: Int64(number(100_000...5_000_000)))
        schedule.add(at: time, order: 0) { [self] in
            guard recorder.isRunning, recorder.life == life, !connections[index].isCut else { return }
            try body()
        }
    }

    /// Asks a publisher for samples.
    /// - Parameter done: is given nil if no answer comes.
    func ask(
        _ endpoint: String, _ request: SamplesReplay, _ done: @escaping (SimulatedPublisher.Answer?) throws -> Void
    ) {
        guard let index = publishers.firstIndex(where: { $0.endpoint == endpoint }) else { return }
        later(200_000...10_000_000) { [self] in
            let publisher = publishers[index]
            guard publisher.isRunning, connections[index].isOpen(at: schedule.now) else {
                return later(1_000_000_000...1_500_000_000) { try done(nil) }
            }
            let answer = publisher.answer(request, at: schedule.now)
            later(200_000...20_000_000) { [self] in
                if connections[index].isCut {
                    later(1_000_000_000...1_500_000_000) { try done(nil) }
                } else {
                    try done(answer)
                }
            }
        }
    }

    // MARK: The session

    private func beginSession() throws {
        guard let recorder, !isOver else { return }
        guard recorder.isRunning, publishers.allSatisfy(\.isRunning) else {
            return later(500_000_000...500_000_000) { [self] in try beginSession() }
        }
        let descriptions = publishers.flatMap { $0.describe(at: schedule.now) }
        counts.sessions += 1
        let identifier = try SessionIdentifier("s\(counts.sessions)")
        asked[identifier] = Asked(began: schedule.now, firsts: oracle.places(of: descriptions))
        note("\(identifier) begins")
        try recorder.begin(identifier, format: format, root: root, from: descriptions) { [self] in
            asked[identifier]?.isAnswered = true
        }
        if faults.pauses { planPause() }
        if happens(0.6) {
            later(3_000_000_000...40_000_000_000) { [self] in
                stopSession(identifier)
                later(100_000_000...5_000_000_000) { [self] in try beginSession() }
            }
        }
    }

    private func stopSession(_ identifier: SessionIdentifier) {
        guard let recorder, recorder.isRunning else { return }
        let present = publishers.indices.filter {
            publishers[$0].isRunning && connections[$0].delivers(at: schedule.now)
        }
        let descriptions = present.flatMap { publishers[$0].describe(at: schedule.now) }
        guard recorder.stop(identifier, descriptions) else { return }
        note("\(identifier) is stopped")
        asked[identifier]?.lasts = oracle.places(of: descriptions)
    }

    private func planPause() {
        later(500_000_000...8_000_000_000) { [self] in
            guard !isOver else { return }
            if happens(0.7) { recorder?.pauseOrResume() } else { recorder?.move(to: "s\(number(1...9))") }
            planPause()
        }
    }

    // MARK: Faults

    private func planFaults() {
        later(faults.pause) { [self] in
            guard !isOver else { return }
            try injectFault()
            planFaults()
        }
    }

    private func injectFault() throws {
        let index = number(0...(publishers.count - 1))
        faultCount += 1
        if skipped.contains(faultCount) { return }
        switch number(0...5) {
        case 0 where faults.kills && !asked.isEmpty:
            try killRecorder(cutsPower: faults.powerCuts && happens(0.4))
        case 1 where faults.publisherKills && publishers[index].isRunning:
            counts.publisherKills += 1
            note("\(publishers[index].plan.device) is killed, with \(publishers[index].next) samples")
            publishers[index].kill(at: schedule.now, oracle: &oracle)
            later(100_000_000...6_000_000_000) { [self] in
                if !publishers[index].isRunning { start(index) }
            }
        case 2 where faults.cuts && !connections[index].isCut:
            counts.cuts += 1
            connections[index].isCut = true
            note("\(publishers[index].plan.device) is disconnected")
            later(50_000_000...5_000_000_000) { [self] in
                connections[index].isCut = false
                note("\(publishers[index].plan.device) is connected")
                connections[index].standsFrom = schedule.now + Int64(number(10_000_000...300_000_000))
            }
        case 3 where faults.drops:
            counts.drops += 1
            connections[index].dropsUntil = schedule.now + Int64(number(1_000_000...800_000_000))
            note("\(publishers[index].plan.device) drops until \(Double(connections[index].dropsUntil) / 1e9) s")
        case 4 where faults.failures && recorder?.isRunning == true:
            counts.failures += 1
            let (error, count) = (happens(0.5) ? Errno.noSpace : .ioError, happens(0.5) ? 1 : number(2...20))
            disk?.fail(count, after: number(0...40), with: error)
            note("the disk fails \(count) times: \(error)")
        default: break
        }
    }

    private func killRecorder(cutsPower: Bool) throws {
        guard let recorder, recorder.isRunning else { return }
        counts.kills += 1
        if cutsPower { counts.powerCuts += 1 }
        note(cutsPower ? "the power is cut" : "the recorder is killed")
        try recorder.kill(cutsPower: cutsPower)
        later(20_000_000...3_000_000_000) { [self] in try startRecorder() }
    }

    /// Is called where the program ended by itself, in a call.
    func recorderEnded() {
        counts.kills += 1
        note("the recorder ends in a call")
        later(20_000_000...1_000_000_000) { [self] in try startRecorder() }
    }

    private func startRecorder() throws {
        guard let recorder, !recorder.isRunning else { return }
        try recorder.start()
        note("the recorder \(recorder.isRunning ? "runs" : "does not run")")
        for index in connections.indices {
            connections[index].standsFrom = schedule.now + Int64(number(20_000_000...300_000_000))
        }
    }

    // MARK: The end

    private func finish() throws {
        guard let recorder, violations.isEmpty else { return }
        // Everything works again, and everybody is there.
        for index in publishers.indices {
            connections[index].isCut = false
            connections[index].dropsUntil = 0
            if !publishers[index].isRunning { start(index) }
        }
        for _ in 0..<100 where !recorder.isRunning {
            try startRecorder()
            try advance(until: schedule.now + 1_000_000_000)
        }
        try advance(until: schedule.now + 3_000_000_000)
        for _ in 0..<400 where violations.isEmpty && !recorder.isDone {
            // A recorder that was killed may not know that it was asked to.
            for identifier in asked.keys.sorted() { stopSession(identifier) }
            // What is stored at the end must survive everything, too.
            if faults.kills, happens(0.02) { try killRecorder(cutsPower: faults.powerCuts && happens(0.4)) }
            try advance(until: schedule.now + 100_000_000)
        }
        for (identifier, session) in asked.sorted(by: { $0.key < $1.key }) where violations.isEmpty {
            try judge(identifier, session)
        }
    }

    private func judge(_ identifier: SessionIdentifier, _ session: Asked) throws {
        guard let directory = try? SessionDirectory.open(identifier, in: data.appending("data")) else {
            if session.isAnswered { violate("\(identifier) is gone") }
            return
        }
        guard directory.hasChecksums else { return violate("\(identifier) does not come to its end") }
        let record = try directory.record()
        for log in record.logs {
            note("\(log.name): epochs \(log.epochs.map { "\($0.epoch) \($0.from)..<\($0.next) end \($0.end as Any)" })")
            note("\(log.name): gaps \(log.gaps.map { "\($0.epoch) \($0.from) + \($0.count) \($0.reason.rawValue)" })")
        }
        // If the disk refuses both the log and the files, what they have is all that can be asked for.
        let mayDiffer = record.status == .failed && counts.failures > 0
        for finding in directory.verify().findings where finding.verdict > .loss && !mayDiffer {
            violate("verify says: \(finding)")
        }
        counts.judged += 1
        guard session.isAnswered else { return }
        let isSound = record.status == .finished
        guard isSound || mayDiffer && !record.failures.isEmpty else {
            return violate("\(identifier) ended as \(record.status): \(record.failures)")
        }
        for (name, first) in session.firsts.sorted(by: { $0.key.description < $1.key.description }) {
            guard let log = record.logs.first(where: { $0.device == name.device && $0.stream == name.stream }),
                let index = publishers.firstIndex(where: { $0.plan.device == name.device })
            else {
                if isSound { violate("\(name) has no log") }
                continue
            }
            let plan = publishers[index].plan
            counts.logs += 1
            let judgement = try oracle.judge(
                log, of: record, in: directory, first: first, last: isSound ? session.lasts?[name] : nil
            ) {
                isPaused(
                    record, at: $0 - Double(plan.uptime - plan.ahead + session.began) / 1e9,
                    ahead: max(0, Double(plan.ahead) / 1e9))
            } mayLose: { epoch, sequence in
                // Its publisher was killed before it could be replayed, or forgot it.
                guard let time = epoch.time(of: sequence) else { return false }
                return !couldHave(index, from: time, to: min(epoch.end ?? .max, time + plan.retention))
            }
            for epoch in log.epochs {
                guard let durable = recorder?.durable[identifier]?[name], durable.epoch == epoch.epoch else { continue }
                counts.durable += 1
                if epoch.next < durable.next {
                    violate("\(identifier): \(name) had \(durable.next) samples durable, and has \(epoch.next)")
                }
            }
            counts.samples += judgement.samples
            counts.lost += judgement.lost
            for violation in judgement.violations.prefix(3) { violate("\(identifier): \(violation)") }
        }
    }

    /// Whether a time since the session's start lies in a pause; nil if that is undecided: a sample of a clock that is ahead
    /// may arrive before the request to pause.
    private func isPaused(_ record: SessionRecord, at time: Double, ahead: Double) -> Bool? {
        let tolerance = 1e-5
        var isInside = false
        for pause in record.pauses {
            let end = pause.to ?? .infinity
            let edges = [pause.from, end]
            if edges.contains(where: { time > $0 - tolerance && time < $0 + ahead + tolerance }) { return nil }
            if time > pause.from, time < end { isInside = true }
        }
        return isInside
    }
}
