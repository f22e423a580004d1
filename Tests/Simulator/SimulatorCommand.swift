import ArgumentParser
import Foundation
import TestSupport

/// Runs simulations of fresh seeds, or repeats one.
@main
struct SimulatorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "simulator",
        abstract: "Record simulated sessions under faults, and judge every sample.",
        discussion:
            "Time, network, disk and crashes are virtual and come from one seed: a failure prints it, and --seed "
            + "runs it again.")

    @Option(help: "Run this seed, and no other.")
    var seed: UInt64?

    @Option(
        help: ArgumentHelp("Run the seeds in this file first, one a line, each with its options.", valueName: "file"))
    var seeds: String?

    @Option(help: "Run fresh seeds for this many seconds.")
    var limit = 60.0

    @Option(help: "Start with this fresh seed and count up from it.")
    var first: UInt64?

    @Option(help: "Run this many fresh seeds, however long they take.")
    var count: UInt64?

    @Option(help: "Run this many seeds at once.")
    var atOnce = ProcessInfo.processInfo.activeProcessorCount

    @Option(help: "Simulate this many seconds with each seed.")
    var seconds = 60

    @Option(help: "Simulate this many publishers, and not as many as the seed says.")
    var publishers: Int?

    @Option(help: "Give each publisher this many streams.")
    var streams: Int?

    @Option(help: "Give each stream this many samples a second.")
    var rate: Double?

    @Option(help: ArgumentHelp("Leave out these faults of --seed, separated by commas.", valueName: "numbers"))
    var skip: String?

    @Option(
        help: ArgumentHelp(
            "Write all that was done to the programs into this file, for each seed that fails.", valueName: "file"))
    var trace: String?

    @Flag(help: "Have calls of the disk fail, too, as on a full or broken one.")
    var failingCalls = false

    @Flag(help: "Have wall clocks jump, too, by up to 20 minutes.")
    var clockJumps = false

    @Flag(help: "Have partitions, slow readers and sleeping machines, too.")
    var outages = false

    @Flag(help: "Have sessions begin in the past, too.")
    var past = false

    @Flag(help: "Kill the recorder right after what it does seldom, and tear pages to any bytes, too.")
    var moments = false

    @Flag(help: "Have relays carry the samples through three servers of NATS, in each run.")
    var relay = false

    @Flag(help: "Stop with the first seed that fails.")
    var stopAtFirst = false

    @Flag(help: "Print all that was done in a run that fails, and do not look for the fewest faults.")
    var whole = false

    @Flag(help: "Print each seed before it runs, one at a time, to find one that does not end.")
    var showSeeds = false

    /// One in this many seeds is run twice, which must give the same result.
    private static let repetition = 16
    private static let maximumFailures = 5

    func run() async throws {
        let runs = SimulatorRuns(
            known: try knownSeeds(), fresh: seed != nil ? nil : first ?? UInt64.random(in: 0..<1_000_000_000),
            end: count.map { .count($0) } ?? .date(.now + limit),
            maximumFailures: stopAtFirst ? 1 : Self.maximumFailures)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<(showSeeds ? 1 : max(1, atOnce)) {
                group.addTask { while !Task.isCancelled, let run = runs.next() { try judge(run, in: runs) } }
            }
            // The first error ends all.
            for try await _ in group {}
        }
        try runs.report(seconds: seconds, expecting: expectedCounts)
    }

    /// Runs a seed, and prints what is wrong with it, first at once and then with the fewest faults.
    private func judge(_ run: SimulatorRuns.Run, in runs: SimulatorRuns) throws {
        let (seed, command) = (run.seed, run.command ?? fresh())
        if showSeeds { FileHandle.standardError.write(Data("seed \(seed)\n".utf8)) }
        let simulation = try command.simulate(seed)
        if self.seed != nil || run.number.isMultiple(of: Self.repetition) {
            let again = try command.simulate(seed)
            if again.course != simulation.course || again.counts != simulation.counts {
                let other = zip(simulation.course, again.course).first { $0 != $1 }?.1
                simulation.violate("the same seed brings something else the second time: \(other ?? "other counts")")
            }
        }
        guard let first = simulation.violations.first else { return runs.add(simulation.counts, of: run) }
        runs.print("seed \(seed):", simulation.violations.prefix(10).map { "  \($0)" })
        if stopAtFirst { return runs.add(simulation.counts, of: run, failed: "seed \(seed)") }
        let (least, skipped) =
            try whole ? (simulation, command.skippedFaults().sorted()) : command.minimised(simulation, seed)
        let lines = least.violations + least.course
        let again = "make simulate SEED=\(seed)\(command.again(skipping: skipped))"
        runs.print(
            whole ? "seed \(seed), all of it:" : "seed \(seed) with the fewest faults that bring a violation:",
            lines.prefix(whole ? .max : 60).map { "    \($0)" } + ["Run it again with: \(again)"])
        if let trace { try runs.append(trace: ["seed \(seed)"] + lines, to: trace) }
        runs.add(simulation.counts, of: run, failed: "\(again)\n    \(first)")
    }

    /// The command for a fresh seed: with every kind of fault without known violations, unless some are named.
    private func fresh() -> SimulatorCommand {
        var command = self
        if failingCalls || clockJumps || outages || past || moments { return command }
        (command.clockJumps, command.outages, command.moments, command.past) = (true, true, true, true)
        return command
    }

    /// The faults and checks that enough fresh runs have; none if runs are smaller than usual, or have relays, which replace
    /// some.
    private var expectedCounts: [Simulation.Counts.Named] {
        guard !relay, seconds >= 60, publishers == nil, streams == nil, rate == nil else { return [] }
        let command = fresh()
        var expected = Simulation.Counts.expected
        if command.failingCalls { expected.append(("failing calls of the disk", \.failures)) }
        if command.clockJumps { expected.append(("clocks that jump", \.jumps)) }
        if command.past { expected.append(("sessions in the past", \.pasts)) }
        if command.outages {
            expected.append(("partitions", \.partitions))
            expected.append(("slow readers", \.slowReaders))
            expected.append(("machines asleep", \.sleeps))
        }
        return expected
    }

    /// The options that repeat a run.
    private func again(skipping skipped: [Int]) -> String {
        var options: [String] = []
        if let publishers { options.append("--publishers \(publishers)") }
        if let streams { options.append("--streams \(streams)") }
        if let rate { options.append("--rate \(rate)") }
        if failingCalls { options.append("--failing-calls") }
        if clockJumps { options.append("--clock-jumps") }
        if outages { options.append("--outages") }
        if past { options.append("--past") }
        if moments { options.append("--moments") }
        if relay { options.append("--relay") }
        if !skipped.isEmpty { options.append("--skip \(skipped.map(String.init).joined(separator: ","))") }
        return options.isEmpty ? "" : " SIMULATE='\(options.joined(separator: " "))'"
    }

    /// The seeds given in advance, each with its command.
    private func knownSeeds() throws -> [(seed: UInt64, command: SimulatorCommand)] {
        if let seed { return [(seed, self)] }
        guard let seeds else { return [] }
        return try String(contentsOfFile: seeds, encoding: .utf8).split(separator: "\n").compactMap {
            let command = try SimulatorCommand.parse(["--seed"] + $0.split(separator: " ").map(String.init))
            return command.seed.map { ($0, command) }
        }
    }

    /// Leaves out one fault after the other while a violation remains.
    private func minimised(_ simulation: Simulation, _ seed: UInt64) throws -> (Simulation, skipped: [Int]) {
        var least = simulation
        var skipped = try skippedFaults()
        for fault in stride(from: simulation.faultCount, to: 0, by: -1) where !skipped.contains(fault) {
            let less = try simulate(seed, skipping: skipped.union([fault]))
            if less.violations.isEmpty { continue }
            least = less
            skipped.insert(fault)
        }
        return (least, skipped.sorted())
    }

    private func skippedFaults() throws -> Set<Int> {
        Set(
            try (skip ?? "").split(separator: ",").map { text in
                guard let number = Int(text) else { throw ValidationError("'\(text)' in --skip is not a number") }
                return number
            })
    }

    private func simulate(_ seed: UInt64) throws -> Simulation { try simulate(seed, skipping: skippedFaults()) }

    private func simulate(_ seed: UInt64, skipping skipped: Set<Int>) throws -> Simulation {
        try withTemporaryDirectory { directory in
            let size = Simulation.Size(
                seconds: seconds, publishers: publishers, streams: streams, rate: rate, hasFailingCalls: failingCalls,
                hasClockJumps: clockJumps, hasOutages: outages, hasPast: past, hasMoments: moments, hasRelays: relay)
            let simulation = Simulation(seed: seed, size: size, skipping: skipped, in: directory)
            do {
                try simulation.run()
            } catch {
                simulation.violate("\(error)")
            }
            return simulation
        }
    }
}
