import FoundationEssentials
import Messages
import SystemPackage
import TestSupport

/// Everything at once for a long time: 50 devices with six numbers a hundred times per second, all five programs with
/// authentication, steps, encrypted archives, removal of uploaded files, metrics read each second, JSON logs, one session after
/// the other; and every 20 s the next program is killed.
struct Soak: Experiment {
    let name = "soak"
    let fault = "kill -9 of one program after the other under load, with everything on"

    private static let devices = 50
    private static let longestInterval = Duration.seconds(20)
    private static let longestSession = Duration.seconds(60)
    /// Seconds of a program's life until its buffers are full: the publisher keeps 30 s for replay.
    private static let warmUp = 40.0
    /// The growth allowed after that, in bytes per second: 10 MB in 100 s, the life of each program between kills.
    private static let largestGrowth = 100e3

    /// The bytes that log-manager keeps for each second of a session: more than the unchecked sessions need.
    private static let keptRate = 3_000_000

    /// One stream of six numbers for each device, packed or as text.
    private static func streams(in directory: FilePath, seed: UInt64) throws -> [StreamPlan] {
        try (0..<devices).map { number in
            let device = "device-\(number)"
            let recording = directory.appending("\(device).csv")
            try MovingDevice(device, seed: seed).write(to: recording)
            return StreamPlan(
                device: device, stream: "accelerometer", rate: MovingDevice.rate, batch: 10,
                isPacked: number % 2 == 0, recording: recording)
        }
    }

    /// Reads `10m`, `40s`, `40`.
    static func time(_ text: String) throws -> Duration {
        let digits = text.prefix { $0.isNumber }
        guard let number = Int(digits), number > 0, ["", "s", "m"].contains(text.dropFirst(digits.count)) else {
            throw Violation("'\(text)' is not how long the soak may last: write 10m or 40s")
        }
        return .seconds(text.hasSuffix("m") ? number * 60 : number)
    }

    func run(in lab: Laboratory, row: inout Row) async throws {
        let inputs = lab.directory.appending("soak-inputs")
        try? FileManager.default.removeItem(atPath: inputs.string)
        try FileManager.default.createDirectory(atPath: inputs.string, withIntermediateDirectories: true)
        var lab = lab
        lab.keys = try await LabKeys(in: inputs.appending("keys"), of: lab)
        let study = try await StudyKeys(in: inputs)
        var ports: [String: UInt16] = [:]
        for program in Programs.programs { ports[program] = try FreePort.next() }
        let memory = MemoryWatch(ports: ports)
        let everything = { (program: String) in
            ["--metrics", "\(ports[program] ?? 0)", "--log-format", Victim.objects, "--log-level", "info"]
        }
        let threshold = Int(Self.sessionLength(lab) / .seconds(1)) * Self.keptRate
        try await Rig.run(
            name, in: lab, row: &row, streams: Self.streams(in: inputs, seed: lab.seed),
            publishing: ["--retention", "30s"] + everything("sensor-publisher")
        ) { rig, row in
            let crew = try Programs(rig, keys: study, threshold: threshold, options: everything)
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                for companion in crew.companions { tasks.addTask { [run = companion.run] in await run() } }
                tasks.addTask { try await memory.run() }
                defer { tasks.cancelAll() }
                try await crew.start()
                try await soak(crew, in: rig.lab, row: &row)
                try await crew.end(row: &row)
            }
        }
        judge(memory, lasting: lab.soak, row: &row)
        try? FileManager.default.removeItem(atPath: inputs.string)
    }

    private static func sessionLength(_ lab: Laboratory) -> Duration { min(longestSession, lab.soak / 4) }

    /// Records, kills and checks, until the time is over.
    private func soak(_ crew: Programs, in lab: Laboratory, row: inout Row) async throws {
        let interval = min(Self.longestInterval, lab.soak / 8)
        let length = Self.sessionLength(lab)
        let end = ContinuousClock.now + lab.soak
        var random = lab.random(for: name)
        var kill = ContinuousClock.now + interval
        var change = ContinuousClock.now + length
        try await crew.beginSession()
        while ContinuousClock.now < end {
            try await Task.sleep(until: min(kill, change, end), clock: .continuous)
            if ContinuousClock.now >= kill, kill < end {
                kill = max(kill + interval, .now + interval / 2)
                row.tries += 1
                row.add(recovery: try await crew.killNext(using: &random))
            }
            if ContinuousClock.now >= change, change < end {
                change = max(change + length, .now + length / 2)
                try await crew.changeSession(row: &row)
            }
        }
    }

    private func judge(_ memory: MemoryWatch, lasting time: Duration, row: inout Row) {
        for program in Programs.programs {
            let summary = memory.summary(of: program, warmUp: Self.warmUp)
            if summary.peak == 0 { row.violations.append("the metrics of \(program) were never read") }
            var note = "\(program): at most \(Self.megabytes(summary.peak))"
            if let growth = summary.growth, let first = summary.first, let last = summary.last {
                note += ", \(Int((growth / 1e3).rounded())) kB/s after \(Int(Self.warmUp)) s, "
                note += "\(Self.megabytes(first)) in its first long life and \(Self.megabytes(last)) in its last"
                if growth > Self.largestGrowth { row.violations.append("\(program) grows: \(note)") }
            }
            row.notes.append(note)
        }
        row.notes.append("\(memory.scrapes) pages of metrics read")
        if memory.scrapes < Int(time / .seconds(1)) {
            row.violations.append("metrics were read \(memory.scrapes) times only")
        }
    }

    private static func megabytes(_ bytes: Double) -> String { "\((bytes / 1e5).rounded() / 10) MB" }
}
