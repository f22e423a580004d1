import ArchiverCore
import Foundation
import LogManagerCore
import Messages
import RecorderCore
import Recording
import ServiceKit
import SystemPackage
import TestSupport

/// One run: publishers, a recorder and other programs, their connections, a disk, and faults, in virtual time and from one seed.
///
/// The connections are in `+network`, the requests in `+sessions`, the faults in `+faults`, and the final expectations in
/// `+judging`.
final class Simulation {
    /// The parameters of a simulation; the seed determines the rest.
    struct Size {
        var seconds = 60
        var publishers: Int?
        /// Per publisher.
        var streams: Int?
        /// Samples per second of each stream.
        var rate: Double?
        /// Whether calls of the disk fail now and then.
        var hasFailingCalls = false
        /// Whether wall clocks jump.
        var hasClockJumps = false
        /// Whether there are partitions, slow readers and sleeping machines.
        var hasOutages = false
        /// Whether sessions begin in the past.
        var hasPast = false
        /// Whether faults hit critical moments: the recorder ends right after rare actions, or in a call; unwritten pages have
        /// any bytes; publishers repeat samples, and answers arrive twice.
        var hasMoments = false
        /// Whether relays carry the samples, through three NATS servers.
        var hasRelays = false
    }

    /// The faults of a run: each seed leaves some out, so that the others meet more varied conditions.
    struct Faults {
        var kills = true
        var powerCuts = true
        var publisherKills = true
        var cuts = true
        var drops = true
        var pauses = true
        var failures = true
        var logManagerKills = true
        var archiverKills = true
        var stepCounterKills = true
        var partitions = true
        var slowReaders = true
        var sleeps = true
        var jumps = true
        /// Whether the recorder ends right after rare actions, and in calls.
        var moments = false
        /// Whether batches begin with samples that were sent before.
        var resends = false
        /// Whether answers arrive a second time.
        var repeats = false
        /// Nanoseconds between two faults.
        var pause: ClosedRange<Int64> = 1_000_000_000...6_000_000_000
    }

    /// The programs that run beside publishers and the recorder.
    struct Programs {
        var logManager = true
        var archiver = true
        var stepCounter = true
    }

    /// A session from its client's point of view.
    struct Asked {
        /// When the session began, which may precede the request.
        let began: Int64
        /// When the session was requested, and when its streams were listed.
        let askedFor: Int64
        let listed: Int64
        /// Whether the recorder had answered, so that the session must be there.
        var isAnswered = false
        /// The epoch and the sample with which the session begins, for each stream.
        let firsts: [StreamName: Oracle.Place]
        /// For each stream whose publisher restarted since the session's start, the previous run, which the recorder had heard
        /// of.
        var formers: [StreamName: String] = [:]

        var isFromPast: Bool { began < askedFor }
        /// log-manager's configurations of the session's logs at its start.
        var configurations: [LogName: LogConfiguration?] = [:]
        /// When the client requested the session's end.
        var stopped: Int64?
        /// The final places of the streams whose publishers could be asked.
        var lasts: [StreamName: Oracle.Place]?
        /// The places in each round of answers: a recorder that had stored an answer before it was killed uses it afterwards.
        var answers: [StreamName: [Oracle.Place]] = [:]
        /// The steps, pauses and annotations that the recorder had confirmed.
        var acknowledged: SessionRecord?
    }

    /// The largest number of events of one moment.
    private static let eventLimit = 100_000

    let programs: Programs
    let faults: Faults
    let segmentLength: Int
    let checkpointScale: Int
    let syncTime: ClosedRange<Int64>
    /// The nanoseconds of the past with which sessions begin; nil if none does.
    let past: ClosedRange<Int>?
    var counts = Counts()
    private(set) var violations: [String] = []
    /// The injected faults, for diagnosis.
    private(set) var course: [String] = []
    private var random: SplitMix
    /// Random numbers for later additions, so that older seeds run as before.
    private var other: SplitMix
    private var schedule = Schedule()
    var oracle = Oracle()
    var publishers: [SimulatedPublisher] = []
    /// By listener and publisher.
    var connections: [Listener: [Connection]] = [:]
    var clock = MachineClock(uptime: 1_000_000_000_000)
    var recorder: SimulatedRecorder?
    var logManager: SimulatedLogManager?
    /// From recorder to log-manager.
    var logManagerLink = Connection()
    var archiver: SimulatedArchiver?
    var stepCounter: SimulatedStepCounter?
    /// nil if the recorder hears publishers directly.
    var relays: SimulatedRelays?
    var disk: VirtualDisk?
    let data: FilePath
    private let size: Size
    let skipped: Set<Int>
    /// The number of faults, including those left out.
    var faultCount = 0
    var asked: [SessionIdentifier: Asked] = [:]
    private(set) var isOver = false
    let format: LogFormat
    let root: JSONRoot

    /// - Parameter skipped: the numbers of faults that are left out.
    init(seed: UInt64, size: Size, skipping skipped: Set<Int> = [], in data: FilePath) {
        self.size = size
        self.skipped = skipped
        self.data = data
        var random = SplitMix(seed: seed)
        func happens(_ chance: Double) -> Bool { random.unit() < chance }
        // With pauses, samples are judged by their time.
        let pauses = happens(0.5)
        var faults = Faults(
            kills: happens(0.8), powerCuts: happens(0.6), publisherKills: happens(0.6), cuts: happens(0.5),
            drops: happens(0.5), pauses: pauses, failures: size.hasFailingCalls && happens(0.5),
            logManagerKills: happens(0.6), archiverKills: happens(0.6), stepCounterKills: happens(0.6),
            partitions: happens(0.4) && size.hasOutages, slowReaders: happens(0.4) && size.hasOutages,
            sleeps: !pauses && happens(0.5) && size.hasOutages,
            jumps: size.hasClockJumps && !pauses && happens(0.5),
            pause: happens(0.3) ? 50_000_000...1_500_000_000 : 1_000_000_000...6_000_000_000)
        var programs = Programs(logManager: happens(0.5), archiver: happens(0.4), stepCounter: happens(0.4))
        if size.hasRelays { programs.stepCounter = false }
        self.programs = programs
        segmentLength = happens(0.5) ? 64 << 20 : Int.random(in: 4_000...200_000, using: &random)
        // Checkpoints come after this many times fewer bytes than in the real program, because runs are short.
        checkpointScale = happens(0.5) ? 1 : Int.random(in: 10...4_000, using: &random)
        syncTime = happens(0.7) ? 300_000...3_000_000 : 500_000...20_000_000
        (format, root) =
            [(.json, .array), (.json, .dictionary), (.csv, .array), (.tsv, .array)][
                Int.random(in: 0...3, using: &random)]
        self.random = random
        var other = SplitMix(seed: ~seed)
        past =
            size.hasPast && !size.hasRelays && !faults.jumps && other.unit() < 0.4
            ? 1_000_000...Int.random(in: 1_000_000_000...30_000_000_000, using: &other) : nil
        if size.hasMoments {
            faults.moments = faults.kills && other.unit() < 0.5
            faults.resends = other.unit() < 0.3
            faults.repeats = other.unit() < 0.3
        }
        self.faults = faults
        self.other = other
    }

    // MARK: Chance and time

    func happens(_ chance: Double) -> Bool { random.unit() < chance }
    func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &random) }
    func seed() -> UInt64 { random.next() }

    var now: Int64 { schedule.now }

    func later(_ delay: ClosedRange<Int64>, _ body: @escaping () throws -> Void) {
        let time = schedule.now + Int64.random(in: delay, using: &random)
        schedule.add(at: time, order: random.next(), body)
    }

    /// Schedules a closure for a time; simultaneous ones run in the order of their scheduling.
    func at(_ time: Int64, _ body: @escaping () throws -> Void) { schedule.add(at: time, order: 0, body) }

    /// Whether to kill the recorder right after a rare action, which random kills seldom hit.
    func isMoment() -> Bool { faults.moments && injects(0.04) }

    /// Whether a batch begins with its predecessor's samples.
    func sendsAgain() -> Bool { faults.resends && injects(0.01) }

    /// Whether an answer arrives a second time.
    func answersAgain() -> Bool { faults.repeats && injects(0.2) }

    private func injects(_ chance: Double) -> Bool {
        guard !isOver, other.unit() < chance else { return false }
        faultCount += 1
        return !skipped.contains(faultCount)
    }

    func violate(_ text: String) { violations.append(timed(text)) }

    func note(_ text: String) { course.append(timed(text)) }

    private func timed(_ text: String) -> String { "at \(Double(schedule.now) / 1e9) s: \(text)" }

    // MARK: The run

    func run() throws {
        let attic = data.appending("attic")
        try FileManager.default.createDirectory(atPath: attic.string, withIntermediateDirectories: true)
        let disk = VirtualDisk(attic: attic, hasGarbage: size.hasMoments, random: SplitMix(seed: random.next()))
        self.disk = disk
        defer { disk.close() }
        let recorder = SimulatedRecorder(in: data.appending("data"), disk: disk, of: self)
        self.recorder = recorder
        if size.hasRelays { try addRelays() }
        let publisherCount = number(1...3)
        for index in 0..<(size.publishers ?? publisherCount) { try addPublisher(index) }
        try startRelays()
        if programs.logManager { try addLogManager(attic: attic) }
        if programs.archiver { try addArchiver() }
        if programs.stepCounter { try addStepCounter() }
        try startRecorder()
        later(500_000_000...1_500_000_000) { [self] in try beginSession() }
        if happens(0.3) { later(2_000_000_000...20_000_000_000) { [self] in try beginSession() } }
        listen()
        planFaults()
        try advance(until: Int64(size.seconds) * 1_000_000_000)
        isOver = true
        try finish()
        // These have references to each other.
        (publishers, self.recorder, logManager, archiver, stepCounter, schedule) = ([], nil, nil, nil, nil, Schedule())
        relays?.close()
        relays = nil
    }

    func advance(until end: Int64) throws {
        var (time, events) = (schedule.now, 0)
        while violations.isEmpty, let event = schedule.next(until: end) {
            (time, events) = schedule.now > time ? (schedule.now, 0) : (time, events + 1)
            if events > Self.eventLimit { violate("a moment does not pass") }
            try event()
        }
    }

    private func addPublisher(_ index: Int) throws {
        var plan = SimulatedPublisher.Plan(
            device: "device-\(index)", streams: number(1...3), rate: [10.0, 50, 100][number(0...2)],
            batch: [1, 5, 10][number(0...2)], isPacked: happens(0.5),
            retention: happens(0.7) ? 600_000_000_000 : Int64(number(2...20)) * 1_000_000_000,
            retentionBytes: happens(0.8) ? 256_000_000 : number(20_000...400_000), isWalk: programs.stepCounter)
        plan.streams = size.streams ?? plan.streams
        // A detector needs at least 12.5 samples per second.
        if plan.isWalk { plan.rate = max(plan.rate, 25) }
        plan.rate = size.rate ?? plan.rate
        // Some publish only every few seconds.
        if size.rate == nil, happens(0.2) { plan.batch = Int(plan.rate) * number(2...8) }
        let clock = MachineClock(
            uptime: Int64(number(1_000...100_000)) * 1_000_000_000,
            ahead: happens(0.5) ? 0 : Int64(number(-500...500)) * 1_000_000)
        publishers.append(SimulatedPublisher(plan, number: index, clock: clock, of: self))
        for listener in Listener.allCases { connections[listener, default: []].append(Connection()) }
        for listener in Listener.allCases { hearing[listener, default: []].append([]) }
        try start(index)
    }

    func start(_ index: Int) throws {
        let publisher = publishers[index]
        let words = (0..<2).map { _ in String(random.next(), radix: 16) }
        for listener in possibleListeners {
            connections[listener]?[index].standsFrom = now + Int64(number(20_000_000...200_000_000))
        }
        note("\(publisher.plan.device) starts, epoch \(words.joined(separator: "-"))")
        try publisher.start(epoch: words.joined(separator: "-"))
    }

    private func addLogManager(attic: FilePath) throws {
        let capacity = number(500_000...20_000_000)
        let plan = SimulatedLogManager.Plan(
            thresholds: LogsSetThresholds(
                pendingUploadBytes: happens(0.5) ? number(0...500_000) : nil,
                totalBytes: happens(0.5) ? number(20_000...2_000_000) : nil),
            whenFull: RetentionPolicy.allCases[number(0...RetentionPolicy.allCases.count - 1)],
            rescanInterval: Int64(number(5...400)) * 1_000_000_000, pieceSize: number(1...128), capacity: capacity)
        logManager = SimulatedLogManager(
            plan, in: data.appending("data"), attic: attic.appending("removed"), of: self)
        try startLogManager()
        for _ in 0..<number(0...3) { try logManager?.askForLog() }
        askLogManager()
    }

    private func addArchiver() throws {
        let keeps: [KeepTime] = [.always, .time(.seconds(0)), .time(.seconds(20))]
        let policy = ArchivePolicy(
            uploads: true, encrypts: happens(0.5), keepArchives: keeps[number(0...2)],
            keepRecordings: keeps[number(0...2)])
        let receiver = SimulatedReceiver(faults: [0, 5, 30][number(0...2)], of: self)
        archiver = SimulatedArchiver(
            SimulatedArchiver.Plan(
                policy: policy, uploads: number(1...3), rescanInterval: Int64(number(5...60)) * 1_000_000_000),
            receiver: receiver, in: data.appending("data"), of: self)
        try startArchiver()
    }

    private func addStepCounter() throws {
        stepCounter = SimulatedStepCounter(
            faults: [0, 5, 30][number(0...2)], holdLimit: happens(0.7) ? 1 << 20 : 2_000, in: data.appending("data"),
            of: self)
        try startStepCounter()
    }

    // MARK: Hearing

    /// When a listener heard everything of a publisher and could send it requests, by publisher.
    var hearing: [Listener: [[Range<Int64>]]] = [:]
}
