import ArgumentParser
import Foundation
import SystemPackage
import TestSupport

/// Runs simulations of fresh seeds, or repeats one.
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

    @Option(
        help: ArgumentHelp("Run the seeds in this file first, one a line, each with its options.", valueName: "file"))
    var seeds: String?

    @Option(help: "Run fresh seeds for this many seconds.")
    var limit = 60.0

    @Option(help: "Start with this fresh seed and count up from it.")
    var first: UInt64?

    @Option(help: "Run this many fresh seeds, however long they take.")
    var count: UInt64?

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

    @Flag(help: "Print each seed before it runs, to find one that does not end.")
    var showSeeds = false

    /// One in this many seeds is run twice, which must give the same result.
    private static let repetition = 16
    private static let maximumFailures = 5

    func run() throws {
        let began = Date.now
        var total = Simulation.Counts()
        var runs = 0
        var failed: [String] = []
        func take(_ seed: UInt64, as command: SimulatorCommand) throws {
            if showSeeds { FileHandle.standardError.write(Data("seed \(seed)\n".utf8)) }
            let simulation = try command.simulate(seed)
            if self.seed != nil || runs.isMultiple(of: Self.repetition) {
                let again = try command.simulate(seed)
                if again.course != simulation.course || again.counts != simulation.counts {
                    let other = zip(simulation.course, again.course).first { $0 != $1 }?.1
                    simulation.violate(
                        "the same seed brings something else the second time: \(other ?? "other counts")")
                }
            }
            total.add(simulation.counts)
            runs += 1
            if simulation.violations.isEmpty { return }
            print("seed \(seed):")
            for violation in simulation.violations.prefix(10) { print("  \(violation)") }
            if stopAtFirst { return failed.append("seed \(seed)") }
            let (least, skipped) =
                try whole ? (simulation, command.skippedFaults().sorted()) : command.minimised(simulation, seed)
            if !whole { print("  with the fewest faults that bring a violation:") }
            let lines = least.violations + least.course
            for line in lines.prefix(whole ? .max : 60) { print("    \(line)") }
            if let trace { try appendTrace(of: seed, lines, to: trace) }
            let again = "make simulate SEED=\(seed)\(command.again(skipping: skipped))"
            print("Run it again with: \(again)")
            failed.append("\(again)\n    \(simulation.violations.first ?? "")")
        }
        for command in try knownSeeds() { if let seed = command.seed { try take(seed, as: command) } }
        let firstFresh = first ?? UInt64.random(in: 0..<1_000_000_000)
        let allowed = stopAtFirst ? 1 : Self.maximumFailures
        var done: UInt64 = 0
        while seed == nil, failed.count < allowed,
            count.map({ done < $0 }) ?? (Date.now.timeIntervalSince(began) < limit)
        {
            let next = firstFresh &+ done
            try take(next, as: fresh(next))
            done += 1
        }
        // CPU time, so that other simultaneous processes have no effect.
        let used = Double(clock()) / Double(CLOCKS_PER_SEC)
        let hours = Double(runs * seconds) / 3600
        print(
            """
            | \(runs) runs of \(seconds) s | |
            | --- | --- |
            | processor time, simulated hours per hour of it | \(String(format: "%.1f s, %.0f", used, hours / (used / 3600))) |
            | sessions begun, in the past, judged at their end | \(total.sessions), \(total.pasts), \(total.judged) |
            | recorder: ends, of them in a call, in a recovery | \(total.kills), \(total.callKills), \(total.killsInRecovery) |
            | power cuts | \(total.powerCuts) |
            | disk: calls that fail, one or several in turn | \(total.failures) |
            | publishers killed | \(total.publisherKills) |
            | connections cut, dropping messages | \(total.cuts), \(total.drops) |
            | partitions, slow readers | \(total.partitions), \(total.slowReaders) |
            | machines asleep, clocks that jump | \(total.sleeps), \(total.jumps) |
            | recorder and publisher killed together | \(total.doubleKills) |
            | steps and pauses answered | \(total.acknowledged) |
            | replays asked for, checkpoints | \(total.replays), \(total.checkpoints) |
            | samples published, recorded and checked, lost with reason | \(total.published), \(total.samples), \(total.lost) |
            | streams' logs judged, places found that were durable before, lengths of files | \(total.logs), \(total.durable), \(total.lengths) |
            | longest time from a sample's arrival until it was durable | \(total.oldestUncommitted / 1_000_000) ms |
            | log-manager killed, requests of people | \(total.logManagerKills), \(total.requests) |
            | files marked, removed; thresholds crossed | \(total.marked), \(total.removed); \(total.crossings) |
            | archiver killed, archives made, uploads tried | \(total.archiverKills), \(total.archives), \(total.uploads) |
            | step-counter killed, commits, gaps | \(total.stepCounterKills), \(total.commits), \(total.stepGaps) |
            | steps counted, devices of which every step was counted | \(total.steps), \(total.wholeWalks) |
            | relays killed: sites', the centre's; servers killed, apart | \(total.relay.sendingKills), \(total.relay.servingKills); \(total.relay.serverKills), \(total.relay.serversApart) |
            | sites and centres without servers, disks lost, leaders changed | \(total.relay.outages), \(total.relay.lostDisks), \(total.relay.leaderChanges) |
            | messages stored, dropped with their leader, called repeats, given out again | \(total.relay.messages), \(total.relay.dropped), \(total.relay.repeats), \(total.relay.redelivered) |
            | answers of replicas that lacked something | \(total.relay.staleAnswers) |
            | checked: step-counter, archiver, log-manager, configurations of logs | \(total.checks.stepCounter), \(total.checks.archiver), \(total.checks.logManager), \(total.checks.configurations) |
            | runs with violations | \(failed.count) |
            """)
        if failed.isEmpty { return }
        // Repeated, because often only the end of a long output is kept.
        print("Failed:")
        for seed in failed { print("  \(seed)") }
        throw ExitCode(1)
    }

    /// The command for a fresh seed: with every kind of fault without known violations, unless some are named.
    private func fresh(_ seed: UInt64) -> SimulatorCommand {
        var command = self
        if failingCalls || clockJumps || outages || past || moments { return command }
        (command.clockJumps, command.outages, command.moments, command.past) = (true, true, true, true)
        return command
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

    private func appendTrace(of seed: UInt64, _ lines: [String], to path: String) throws {
        let file = try FileDescriptor.open(
            FilePath(path), .writeOnly, options: [.append, .create], permissions: .ownerReadWrite)
        _ = try file.closeAfter {
            try file.writeAll(Data((["seed \(seed)"] + lines).joined(separator: "\n").utf8 + [10]))
        }
    }

    /// The command for each seed given in advance.
    private func knownSeeds() throws -> [SimulatorCommand] {
        if seed != nil { return [self] }
        guard let seeds else { return [] }
        return try String(contentsOfFile: seeds, encoding: .utf8).split(separator: "\n").map {
            try SimulatorCommand.parse(["--seed"] + $0.split(separator: " ").map(String.init))
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

extension Simulation.RelayCounts {
    mutating func add(_ other: Self) {
        sendingKills += other.sendingKills
        servingKills += other.servingKills
        serverKills += other.serverKills
        serversApart += other.serversApart
        outages += other.outages
        lostDisks += other.lostDisks
        leaderChanges += other.leaderChanges
        messages += other.messages
        dropped += other.dropped
        repeats += other.repeats
        redelivered += other.redelivered
        staleAnswers += other.staleAnswers
    }
}

extension Simulation.Counts {
    mutating func add(_ other: Self) {
        kills += other.kills
        killsInRecovery += other.killsInRecovery
        callKills += other.callKills
        powerCuts += other.powerCuts
        publisherKills += other.publisherKills
        cuts += other.cuts
        drops += other.drops
        replays += other.replays
        checkpoints += other.checkpoints
        samples += other.samples
        lost += other.lost
        published += other.published
        sessions += other.sessions
        pasts += other.pasts
        failures += other.failures
        judged += other.judged
        logs += other.logs
        durable += other.durable
        lengths += other.lengths
        logManagerKills += other.logManagerKills
        requests += other.requests
        crossings += other.crossings
        marked += other.marked
        removed += other.removed
        stepCounterKills += other.stepCounterKills
        commits += other.commits
        steps += other.steps
        stepGaps += other.stepGaps
        wholeWalks += other.wholeWalks
        checks.stepCounter += other.checks.stepCounter
        acknowledged += other.acknowledged
        partitions += other.partitions
        slowReaders += other.slowReaders
        sleeps += other.sleeps
        jumps += other.jumps
        doubleKills += other.doubleKills
        archiverKills += other.archiverKills
        archives += other.archives
        uploads += other.uploads
        relay.add(other.relay)
        checks.archiver += other.checks.archiver
        checks.logManager += other.checks.logManager
        checks.configurations += other.checks.configurations
        oldestUncommitted = max(oldestUncommitted, other.oldestUncommitted)
    }
}
