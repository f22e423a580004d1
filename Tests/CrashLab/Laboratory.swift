import FoundationEssentials
import MessageBus
import SystemPackage
import TestSupport
import ZeroMQ

/// Where experiments are made: the programs, the library that fails calls, the directory, the seed.
struct Laboratory: Sendable {
    /// The directory of the built programs.
    let programs: FilePath
    /// The built fault layer.
    let faultLayer: FilePath
    /// Where sessions are recorded. What an experiment leaves here after a violation stays.
    let directory: FilePath
    let seed: UInt64
    /// How many crashes are wanted; other faults are tried in proportion.
    let crashes: Int
    /// How many streams are many.
    let streams: Int
    /// How long the soak lasts.
    let soak: Duration
    let context: Context
    let thread: SocketThread
    /// What programs and laboratory show each other; nil if every door is open.
    var keys: LabKeys?

    /// A share of the crashes, at least so many.
    func share(_ part: Double, atLeast minimum: Int = 1) -> Int { max(minimum, Int(Double(crashes) * part)) }

    /// Random numbers of an experiment's own.
    func random(for name: String) -> SplitMix { SplitMix(seed: seed, for: name) }

    /// Runs the experiments, so many at once, and tells how each went.
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

    /// Lends a directory of its own. It stays where an error is thrown or the row has new violations afterwards.
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

    /// Asks a program.
    func client(of program: String, at endpoint: String) throws -> RequestClient {
        var options = SocketOptions()
        if let keys { options.security = try keys.commanding(program) }
        return try RequestClient(context: context, thread: thread, endpoint: endpoint, options: options)
    }

    /// Runs a program to its end.
    func output(of program: String, _ arguments: [String]) async throws -> (end: ProgramEnd, text: String) {
        try await ProgramUnderTest.run(executable: programs.appending(program), arguments: arguments) { program in
            let end = try await program.end(within: .seconds(60))
            return (end, program.standardOutput + program.standardError)
        }
    }
}
