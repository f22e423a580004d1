import FoundationEssentials
import MessageBus
import SystemPackage
import TestSupport
import ZeroMQ

/// The environment of experiments: the programs, the fault layer, the directory, the seed.
struct Laboratory: Sendable {
    let programs: FilePath
    let faultLayer: FilePath
    /// The directory for the recorded sessions. After a violation, an experiment leaves its files here.
    let directory: FilePath
    let seed: UInt64
    /// The number of crashes; other faults are tried in proportion.
    let crashes: Int
    /// The number of streams in experiments with many.
    let streams: Int
    /// The duration of the soak.
    let soak: Duration
    let context: Context
    let thread: SocketThread
    /// The keys of programs and laboratory; nil without authentication.
    var keys: LabKeys?

    /// A share of the crashes, but at least `minimum`.
    func share(_ part: Double, atLeast minimum: Int = 1) -> Int { max(minimum, Int(Double(crashes) * part)) }

    /// An experiment's own random numbers.
    func random(for name: String) -> SplitMix { SplitMix(seed: seed, for: name) }

    /// Runs experiments, `atOnce` at a time, and reports how each went.
    func run(_ experiments: [any Experiment], atOnce: Int) async -> Outcome {
        let rows = await withTaskGroup(of: (number: Int, row: Row).self) { tasks in
            var rows: [Int: Row] = [:]
            for (number, experiment) in experiments.enumerated() {
                if number >= atOnce, let done = await tasks.next() { rows[done.number] = done.row }
                tasks.addTask { (number, await run(experiment)) }
            }
            for await done in tasks { rows[done.number] = done.row }
            return rows
        }
        var outcome = Outcome(seed: seed, crashes: crashes)
        // In the order of the table, whichever ended first.
        outcome.rows = rows.sorted { $0.key < $1.key }.map(\.value)
        return outcome
    }

    private func run(_ experiment: any Experiment) async -> Row {
        Console.say("\(experiment.name): \(experiment.fault) …")
        let start = ContinuousClock.now
        var row = Row(experiment)
        do {
            try await experiment.run(in: self, row: &row)
        } catch {
            row.violations.append("\(error)")
        }
        if let reason = row.notRun { Console.say("  !!! NOT RUN: \(experiment.name): \(reason)") }
        for violation in row.violations {
            Console.say("  VIOLATION (seed \(seed), \(experiment.name), after try \(row.tries)): \(violation)")
        }
        Console.say(
            "  \(experiment.name): \(row.tries) tries, \(row.samples) samples, \((ContinuousClock.now - start) / .seconds(1)) s"
        )
        return row
    }

    /// Lends a new directory. It is kept if an error is thrown or the row has new violations afterwards.
    func withDirectory(
        _ name: String, row: inout Row, _ body: (FilePath, inout Row) async throws -> Void
    ) async throws {
        let directory = directory.appending(name)
        try? FileManager.default.removeItem(atPath: directory.string)
        try FileManager.default.createDirectory(atPath: directory.string, withIntermediateDirectories: true)
        let before = row.violations.count
        do {
            try await body(directory, &row)
        } catch {
            throw Violation("\(error)\n    what was recorded is kept in \(directory)")
        }
        if row.violations.count == before {
            try? FileManager.default.removeItem(atPath: directory.string)
        } else {
            row.violations.append("what was recorded is kept in \(directory)")
        }
    }

    func client(of program: String, at endpoint: String) throws -> RequestClient {
        var options = SocketOptions()
        if let keys { options.security = try keys.commanding(program) }
        return try RequestClient(context: context, thread: thread, endpoint: endpoint, options: options)
    }

    func output(of program: String, _ arguments: [String]) async throws -> (end: ProgramEnd, text: String) {
        try await ProgramUnderTest.run(executable: programs.appending(program), arguments: arguments) { program in
            let end = try await program.end(within: .seconds(60))
            return (end, program.standardOutput + program.standardError)
        }
    }
}
