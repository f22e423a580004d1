import FoundationEssentials
import Messages
import SystemPackage
import TestSupport

/// All five programs, one session after the other, and the next program to kill.
///
/// Confined to the task of one experiment.
final class Programs {
    /// The order in which the programs are killed.
    static let programs = ["recorder", "step-counter", "log-manager", "archiver", "sensor-publisher"]

    private static let formats = ["json", "csv", "tsv"]
    private static let limit = Duration.seconds(120)
    /// The share of steps that may be missing or extra, because each walk sometimes begins anew.
    private static let stepTolerance = 0.15

    private let rig: Rig
    private let logManager: Companion
    private let stepCounter: Companion
    private let archiver: Companion
    /// The keys to which archives are encrypted.
    private let keys: StudyKeys
    /// The directory that receives archives.
    private let receiver: FilePath
    /// The bytes of finished files above which log-manager removes some.
    private let threshold: Int
    private let start = WallTime.now
    private var kills = 0
    private var sessions = 0
    private var current = ""
    /// Finished sessions that are not checked yet.
    private var unchecked: [String] = []
    private var latencies: [SessionReport.Latency] = []

    /// Sets up the programs beside a running publisher.
    /// - Parameters:
    ///   - keys: the keys to which archives are encrypted.
    ///   - threshold: the bytes of finished files above which log-manager removes uploaded ones.
    ///   - options: further options of each program, metrics for example.
    init(_ rig: Rig, keys: StudyKeys, threshold: Int, options: (String) -> [String]) throws {
        self.rig = rig
        self.keys = keys
        self.threshold = threshold
        rig.removesChecked = false
        let data = ["--data", rig.data.string]
        receiver = rig.directory.appending("receiver")
        try FileManager.default.createDirectory(atPath: receiver.string, withIntermediateDirectories: true)
        logManager = try Companion(
            "log-manager", in: rig.lab,
            data + ["--subscribe", rig.eventsEndpoint, "--total-threshold", "\(threshold)"]
                + ["--when-full", "uploaded-only", "--pending-threshold", "\(threshold / 4)"] + options("log-manager"))
        stepCounter = try Companion(
            "step-counter", in: rig.lab, data + ["--subscribe", rig.forwarder.endpoint] + options("step-counter"))
        archiver = try Companion(
            "archiver", in: rig.lab,
            data + ["--subscribe", rig.eventsEndpoint, "--log-manager", logManager.reply]
                + ["--upload-to", "file://\(receiver)", "--certificate", keys.certificate.string]
                + ["--keep-archives", "30s", "--rescan-interval", "5s"] + options("archiver"))
        rig.recorderOptions = ["--log-manager", logManager.reply] + options("recorder")
    }

    /// The programs beside publisher and recorder.
    var companions: [Companion] { [logManager, stepCounter, archiver] }

    /// Starts all programs but the publisher, which is running.
    func start() async throws {
        for companion in companions { try await companion.start() }
        _ = try await rig.startRecorder().ready()
    }

    /// Kills the next program, and restarts it after up to a second.
    /// - Returns: the time from the restart until the logs had everything published.
    func killNext(using random: inout SplitMix) async throws -> Duration {
        let program = Self.programs[kills % Self.programs.count]
        kills += 1
        let pause = random.milliseconds(0...1_000)
        let start: ContinuousClock.Instant
        switch program {
        case "recorder":
            try await rig.killRecorder()
            try await Task.sleep(for: pause)
            start = .now
            _ = try await rig.startRecorder().ready()
            try await rig.settleAll()
        case "sensor-publisher":
            start = .now
            try await rig.restartPublisher(by: .kill)
        default:
            guard let companion = companions.first(where: { $0.name == program }) else { return .zero }
            try await companion.kill()
            try await Task.sleep(for: pause)
            start = .now
            try await companion.start()
        }
        try await rig.catchUp()
        let recovery = ContinuousClock.now - start
        Console.say(
            "  \(program) was killed; all was in the logs \(Int(recovery / .milliseconds(1))) ms after its return")
        return recovery
    }

    /// Begins the next session, with all streams.
    func beginSession() async throws {
        current = "soak-\(sessions)"
        let devices = Set(rig.forwarder.samples.histories.map { "\($0.device)/" }).sorted()
        try await rig.start(
            current,
            SessionPlan(
                streams: devices, format: Self.formats[sessions % Self.formats.count], maximumFileSize: 1_000_000))
        sessions += 1
    }

    /// Ends the session, begins the next one, and checks the one before, which has been archived meanwhile.
    func changeSession(row: inout Row) async throws {
        try await endSession()
        try await beginSession()
        if unchecked.count > 1 { try await checkOldest(row: &row) }
    }

    /// Ends everything, and checks the remaining sessions.
    func end(row: inout Row) async throws {
        try await endSession()
        while !unchecked.isEmpty { try await checkOldest(row: &row) }
        try await checkSteps(row: &row)
        try await checkRemoval(row: &row)
        try await rig.terminateRecorder(isWhole: true)
        for companion in companions.reversed() {
            try await companion.terminate()
            row.violations += companion.complaints.map { "\(companion.name): \($0)" }
        }
        try await rig.terminatePublisher()
        let log = companions.reduce(rig.logs) { $0 + $1.log }
        row.notes.append("\(log.lines) lines of logs, each an object")
        row.violations += log.problems
        let count = latencies.reduce(0) { $0 + $1.count }
        let longest = latencies.map(\.maximum).max() ?? 0
        let median = latencies.map(\.median).sorted()
        let p99 = latencies.map(\.p99).sorted()
        if let middle = median.dropFirst(median.count / 2).first, let worst = p99.last,
            let typical = p99.dropFirst(p99.count / 2).first
        {
            row.notes.append(
                "\(sessions) sessions; on disk after \(Self.milliseconds(middle)) (median), 99 %: \(Self.milliseconds(typical)) "
                    + "(\(Self.milliseconds(worst)) in the worst session), longest \(Self.milliseconds(longest)), of \(count) batches"
            )
        }
    }

    private func endSession() async throws {
        let result = try await rig.stop(current)
        latencies.append(result.report.commitLatency)
        unchecked.append(current)
    }

    /// Waits for the oldest session's archive, and compares its logs with the published samples.
    private func checkOldest(row: inout Row) async throws {
        let session = unchecked.removeFirst()
        let start = ContinuousClock.now
        try await delivered(session)
        let archive = receiver.appending("\(session).zip.p7m")
        let (end, text) = try await rig.lab.output(
            of: "archiver", ["verify", archive.string, "--key", keys.key.string])
        if end != .exited(0) { row.violations.append("archiver verify \(archive) \(end):\n\(text)") }
        let archived = ContinuousClock.now
        try await rig.check(session, row: &row)
        rig.expectations[session] = nil
        Console.say(
            "  session \(session) was delivered \(Int((archived - start) / .milliseconds(1))) ms after it was asked for, and checked in "
                + "\(Int((ContinuousClock.now - archived) / .milliseconds(1))) ms")
    }

    /// Compares the counted steps of each device with its actual steps, as far as they can be known.
    private func checkSteps(row: inout Row) async throws {
        var counted: [Int] = []
        for history in rig.forwarder.samples.histories {
            let end = WallTime.now
            let samples = history.epochs.reduce(0) { $0 + $1.next }
            let made = Double(samples) / Double(MovingDevice.rate) * MovingDevice.cadence
            let steps = try await stepCounter.ask(StepsQuery(device: history.device, from: start, to: end))
                .numberOfSteps
            counted.append(steps)
            if abs(Double(steps) / made - 1) > Self.stepTolerance {
                row.violations.append("\(steps) steps of \(history.device) were counted, and it made \(Int(made))")
            }
        }
        row.notes.append(
            "\(counted.min() ?? 0) to \(counted.max() ?? 0) steps of each of \(counted.count) devices counted")
    }

    /// Waits until log-manager has removed the excess, and runs `recorder verify` on the rest.
    private func checkRemoval(row: inout Row) async throws {
        try await eventually("finished files are within their threshold", within: Self.limit) {
            try await logManager.ask(LogsUsage()).totalBytes <= threshold
        }
        var removed = 0
        for session in try SessionFiles.sessions(in: rig.data) {
            let ledger = rig.directory(of: session).appending("removed.ndjson")
            let lines = (try? String(contentsOfFile: ledger.string, encoding: .utf8))?.split(separator: "\n")
            removed += lines?.count ?? 0
            try await rig.verify(rig.directory(of: session), isWhole: true, row: &row)
        }
        row.notes.append("\(removed) files removed by log-manager, whose threshold was \(threshold / 1_000_000) MB")
        if removed == 0 { row.violations.append("log-manager removed nothing") }
    }

    /// Waits until a session's archive is at the receiver and its files are marked. An archiver that found log-manager dead would
    /// retry after a minute; it is requested to do so at once.
    private func delivered(_ session: String) async throws {
        let deadline = ContinuousClock.now + Self.limit
        while true {
            do {
                return try await eventually("session \(session) is delivered", within: .seconds(5)) {
                    try await archiver.ask(ArchiveStatusRequest(session: session)).state == .marked
                }
            } catch  where ContinuousClock.now < deadline {
                _ = try? await archiver.ask(ArchiveRetry(session: session))
            }
        }
    }

    private static func milliseconds(_ seconds: Double) -> String { "\((seconds * 1e4).rounded() / 10) ms" }
}
