import ArgumentParser
import FoundationEssentials
import SystemPackage
import TestSupport
import ZeroMQ

/// The crash laboratory's command line.
@main
struct CrashLabCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "crash-lab", abstract: "Crash the real programs, and check every sample that was published.")

    @Option(help: "About how many times programs are killed; the other faults are tried in proportion.")
    var crashes = 40

    @Option(help: "Repeats the choices of an earlier run; the moments differ as the machine does.")
    var seed: UInt64?

    @Option(help: "How many streams there are where there are many (default: 300, and 1000 from 100 crashes on).")
    var streams: Int?

    @Option(
        help: "How long the experiment soak lasts, as 10m or 40s; without it, it is left out.", transform: Soak.time)
    var soak: Duration?

    @Option(help: "Write the table to this file, as JSON.")
    var output: String?

    @Option(help: "Where sessions are recorded; what went wrong stays there (default: a new directory in TMPDIR).")
    var directory: String?

    @Option(help: "The directory of the built programs (default: where this one is).")
    var programs: String?

    @Option(parsing: .upToNextOption, help: "Try these alone.")
    var only: [String] = []

    @Option(help: "How many faults are tried at the same time; the machine's speed is then shared.")
    var atOnce = 1

    @Flag(help: "Check the oracle: spoil a recorded session in every way it must notice.")
    var selfTest = false

    func run() async throws {
        let seed = seed ?? UInt64.random(in: 1..<1_000_000_000)
        let programs = try programs.map { FilePath($0) } ?? Self.ownDirectory()
        let directory = FilePath(
            directory ?? "\(ProcessInfo.processInfo.environment["TMPDIR"] ?? "/tmp")/holdfast-crash-lab-\(seed)")
        try FileManager.default.createDirectory(atPath: directory.string, withIntermediateDirectories: true)
        let faultLayer = try Self.ownDirectory().appending("libFaultLayer.so")
        guard FileManager.default.isReadableFile(atPath: faultLayer.string) else {
            // Without the library, the dynamic loader would only warn, and no fault would happen.
            throw ValidationError("there is no \(faultLayer): build it, or start this where it was built")
        }
        let lab = Laboratory(
            programs: programs, faultLayer: faultLayer,
            directory: directory, seed: seed, crashes: crashes, streams: streams ?? (crashes < 100 ? 300 : 1_000),
            soak: soak ?? .zero,
            context: try Context(maximumSockets: 1_000),
            thread: try SocketThread(name: "lab"))
        Console.say("seed \(seed), sessions in \(directory)")

        let all: [any Experiment] =
            selfTest ? [SelfTest(), CatalogSelfTest(), ArchivingSelfTest()] : soak == nil ? Self.experiments : [Soak()]
        let unknown = only.filter { name in !all.contains { $0.name == name } }
        guard unknown.isEmpty else {
            throw ValidationError("there is no \(unknown.joined(separator: ", ")): \(all.map(\.name))")
        }
        // Overload takes minutes, so it runs only if named.
        let outcome = await lab.run(
            all.filter { only.isEmpty ? !($0 is Overload) : only.contains($0.name) }, atOnce: max(1, atOnce))
        Console.say("\n" + outcome.table)
        if let output { try outcome.write(to: FilePath(output)) }
        guard outcome.isClean else {
            Console.say("There were violations, with seed \(seed). What was recorded is kept in \(directory)")
            throw ExitCode.failure
        }
        try? FileManager.default.removeItem(atPath: directory.string)
    }

    /// All experiments, in the order of the table. The parts of those that crash programs add up to 1.
    private static let experiments: [any Experiment] = [
        RecorderKills(moment: .anytime, part: 0.4),
        RecorderKills(moment: .recovery, part: 0.2),
        RecorderKills(moment: .request, part: 0.15),
        CallKills(part: 0.15),
        DiscardKills(part: 0.2),
        RecorderTermination(part: 0.08),
        PublisherRestarts(signal: .kill, part: 0.1),
        PublisherRestarts(signal: .terminate, part: 0.08),
        RecorderHang(part: 0.05),
        LostBatches(part: 0.05),
        ManyStreams(part: 0.2),
        PowerCuts(part: 1.5),
        PowerCuts(part: 0.1, isWithMany: true),
        FailingCalls(part: 0.5),
        CatalogExperiment(),
        Archiving(),
        CutLogs(part: 1.5),
        SpoiledLog(part: 0.15),
        FailingSyncs(part: 0.1),
        BitFlips(part: 1.5),
        FullDisk(),
        Overload(),
        LostDirectory(),
    ]

    private static func ownDirectory() throws -> FilePath {
        FilePath(try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")).removingLastComponent()
    }
}
