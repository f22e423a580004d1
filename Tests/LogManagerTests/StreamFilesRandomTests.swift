import Foundation
import Testing

@Suite(.timeLimit(.minutes(1)))
struct StreamFilesRandomTests {
    /// To repeat one seed, set `HOLDFAST_LOG_MANAGER_SEED`.
    @Test func whateverHappensNothingIsRemovedThatMayNotBe() throws {
        let given = ProcessInfo.processInfo.environment["HOLDFAST_LOG_MANAGER_SEED"].flatMap(UInt64.init)
        let first = UInt64.random(in: 0...UInt64.max / 2)
        var (kills, removed) = (0, 0)
        for seed in given.map({ $0...$0 }) ?? first...first + 79 {
            let run = try ModelRun(seed: seed)
            run.run(steps: 300)
            #expect(run.violations.isEmpty, "HOLDFAST_LOG_MANAGER_SEED=\(seed)")
            (kills, removed) = (kills + run.kills, removed + run.removedFiles)
        }
        if given == nil { #expect(kills > 10 && removed > 10, "\(kills) kills, \(removed) files removed") }
    }
}
