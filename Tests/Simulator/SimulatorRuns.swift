import ArgumentParser
import Foundation
import Synchronization
import SystemPackage

/// The remaining seeds, and the results so far. Several threads take seeds from it at once.
final class SimulatorRuns: Sendable {
    /// A seed to run.
    struct Run {
        /// Its place among all seeds.
        let number: Int
        let seed: UInt64
        /// Its own command, if it is one of the known seeds.
        let command: SimulatorCommand?
    }

    /// When no further fresh seed is begun.
    enum End {
        case count(UInt64)
        case date(Date)
    }

    private struct State {
        var begun = 0
        var ended = 0
        var total = Simulation.Counts()
        /// The fresh runs, and their counts.
        var freshRuns = 0
        var freshTotal = Simulation.Counts()
        /// The command that repeats each failed run, with its first violation.
        var failed: [String] = []
    }

    /// With this many fresh runs, each kind of fault and check occurs, although each seed leaves some out.
    private static let enoughRuns = 250

    private let known: [(seed: UInt64, command: SimulatorCommand)]
    private let fresh: UInt64?
    private let end: End
    private let maximumFailures: Int
    private let state = Mutex(State())

    /// - Parameters:
    ///   - known: the seeds that run first.
    ///   - fresh: the first seed after them; the others count up from it. Without it there are no others.
    ///   - maximumFailures: after this many failures, no further fresh seed is begun.
    init(known: [(seed: UInt64, command: SimulatorCommand)], fresh: UInt64?, end: End, maximumFailures: Int) {
        (self.known, self.fresh, self.end, self.maximumFailures) = (known, fresh, end, maximumFailures)
    }

    /// The next seed to run, or nil at the end.
    func next() -> Run? {
        state.withLock { state in
            let number = state.begun
            if known.indices.contains(number) {
                state.begun += 1
                return Run(number: number, seed: known[number].seed, command: known[number].command)
            }
            let done = UInt64(number - known.count)
            guard let fresh, state.failed.count < maximumFailures, isOpen(after: done) else { return nil }
            state.begun += 1
            return Run(number: number, seed: fresh &+ done, command: nil)
        }
    }

    private func isOpen(after done: UInt64) -> Bool {
        switch end {
        case .count(let count): done < count
        case .date(let date): .now < date
        }
    }

    /// Adds a run's counts.
    /// - Parameter failed: the command that repeats a failed run.
    func add(_ counts: Simulation.Counts, of run: Run, failed: String? = nil) {
        state.withLock { state in
            state.ended += 1
            state.total.add(counts)
            if run.command == nil {
                state.freshRuns += 1
                state.freshTotal.add(counts)
            }
            if let failed { state.failed.append(failed) }
        }
    }

    /// Prints lines that belong together.
    func print(_ title: String, _ lines: [String]) {
        state.withLock { _ in Swift.print(([title] + lines).joined(separator: "\n")) }
    }

    /// Appends a run's course to a file.
    func append(trace lines: [String], to path: String) throws {
        try state.withLock { _ in
            let file = try FileDescriptor.open(
                FilePath(path), .writeOnly, options: [.append, .create], permissions: .ownerReadWrite)
            _ = try file.closeAfter { try file.writeAll(Data(lines.joined(separator: "\n").utf8 + [10])) }
        }
    }

    /// Prints a table of all runs, and the commands of those that failed.
    /// - Parameters:
    ///   - seconds: how long each simulated run takes.
    ///   - expected: what enough fresh runs have.
    /// - Throws: the exit code 1 if a run failed, or if enough fresh runs lack something expected.
    func report(seconds: Int, expecting expected: [Simulation.Counts.Named]) throws {
        let (runs, total, failed) = state.withLock { ($0.ended, $0.total, $0.failed) }
        let (freshRuns, freshTotal) = state.withLock { ($0.freshRuns, $0.freshTotal) }
        let missing = freshRuns < Self.enoughRuns ? [] : expected.filter { freshTotal[keyPath: $0.count] == 0 }
        // CPU time, so that other simultaneous processes have no effect.
        let used = Double(clock()) / Double(CLOCKS_PER_SEC)
        let hours = Double(runs * seconds) / 3600
        Swift.print(
            """
            | \(runs) runs of \(seconds) s | |
            | --- | --- |
            | processor time, simulated hours per hour of it | \(String(format: "%.1f s, %.0f", used, hours / (used / 3600))) |
            \(total.rows)
            | runs with violations | \(failed.count) |
            """)
        if !missing.isEmpty {
            let names = missing.map { $0.name }.joined(separator: ", ")
            Swift.print("None in \(freshRuns) fresh runs: \(names)")
        }
        if failed.isEmpty, missing.isEmpty { return }
        if failed.isEmpty { throw ExitCode(1) }
        // Repeated, because often only the end of a long output is kept.
        Swift.print("Failed:")
        for line in failed { Swift.print("  \(line)") }
        throw ExitCode(1)
    }
}
