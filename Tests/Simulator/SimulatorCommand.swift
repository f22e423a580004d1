import ArgumentParser
import Foundation
import SystemPackage
import TestSupport

/// Runs simulations of fresh seeds, or one again.
@main
struct SimulatorCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "simulator",
        abstract: "Record simulated sessions under faults, and judge every sample.",
        discussion:
            "Time, network, disk and crashes are virtual and come from one seed: a failure prints it, and --seed "
            + "runs it again.")

    @Option(help: "Run this seed, and no other.")
    var seed: UInt64?

    @Option(help: ArgumentHelp("Run the seeds in this file first, one a line.", valueName: "file"))
    var seeds: String?

    @Option(help: "Run fresh seeds for this many seconds.")
    var limit = 60.0

    @Option(help: "Simulate this many seconds with each seed.")
    var seconds = 60

    @Option(help: "Simulate this many publishers, and not as many as the seed says.")
    var publishers: Int?

    @Option(help: "Give each publisher this many streams.")
    var streams: Int?

    @Option(help: "Give each stream this many samples a second.")
    var rate: Double?

    @Flag(help: "Stop with the first seed that fails.")
    var stopAtFirst = false

    @Flag(help: "Print each seed before it runs, to find one that does not end.")
    var showSeeds = false

    /// One seed of so many is run twice, which must bring the same.
    private static let repetition = 16
    private static let maximumFailures = 5

    func run() throws {
        let began = Date.now
        var total = Simulation.Counts()
        var runs = 0
        var failed: [UInt64] = []
        func take(_ seed: UInt64) throws {
            if showSeeds { FileHandle.standardError.write(Data("seed \(seed)\n".utf8)) }
            let simulation = try simulate(seed)
            if self.seed != nil || runs.isMultiple(of: Self.repetition) {
                let again = try simulate(seed)
                if again.course != simulation.course || again.counts != simulation.counts {
                    simulation.violate("the same seed brings something else the second time")
                }
            }
            total.add(simulation.counts)
            runs += 1
            if simulation.violations.isEmpty { return }
            failed.append(seed)
            print("seed \(seed):")
            for violation in simulation.violations.prefix(10) { print("  \(violation)") }
            if self.seed != nil { for line in simulation.course { print("  \(line)") } }
            print("Run it again with: make simulate SEED=\(seed)")
        }
        for seed in try knownSeeds() { try take(seed) }
        var next = UInt64.random(in: 0..<1_000_000_000)
        let allowed = stopAtFirst ? 1 : Self.maximumFailures
        while seed == nil, failed.count < allowed, Date.now.timeIntervalSince(began) < limit {
            try take(next)
            next += 1
        }
        let elapsed = Date.now.timeIntervalSince(began)
        let hours = Double(runs * seconds) / 3600
        print(
            """
            \(runs) runs of \(seconds) s, \(String(format: "%.0f", hours / (elapsed / 3600))) simulated hours per hour
            recorder: \(total.kills) ends, \(total.killsInRecovery) of them in a recovery, \(total.powerCuts) power cuts, \
            \(total.checkpoints) checkpoints
            publishers: \(total.publisherKills) killed; connections: \(total.cuts) cut, \(total.drops) dropping; \
            \(total.replays) replays asked for
            samples: \(total.published) published, \(total.samples) recorded and checked, \(total.lost) lost with reason
            violations in \(failed.count) runs
            """)
        if !failed.isEmpty { throw ExitCode(1) }
    }

    private func knownSeeds() throws -> [UInt64] {
        if let seed { return [seed] }
        guard let seeds else { return [] }
        return try String(contentsOfFile: seeds, encoding: .utf8).split(separator: "\n").map { line in
            guard let seed = UInt64(line) else {
                throw ValidationError("'\(line)' in \(seeds) is no seed: write a number")
            }
            return seed
        }
    }

    private func simulate(_ seed: UInt64) throws -> Simulation {
        try withTemporaryDirectory { directory in
            let size = Simulation.Size(seconds: seconds, publishers: publishers, streams: streams, rate: rate)
            let simulation = Simulation(seed: seed, size: size, in: directory)
            do {
                try simulation.run()
            } catch {
                simulation.violate("\(error)")
            }
            return simulation
        }
    }
}

extension Simulation.Counts {
    mutating func add(_ other: Self) {
        kills += other.kills
        killsInRecovery += other.killsInRecovery
        powerCuts += other.powerCuts
        publisherKills += other.publisherKills
        cuts += other.cuts
        drops += other.drops
        replays += other.replays
        checkpoints += other.checkpoints
        samples += other.samples
        lost += other.lost
        published += other.published
    }
}
