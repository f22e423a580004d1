import FoundationEssentials
import Messages
import StepCounterCore
import TestSupport
import Testing

/// Step counters that are killed, lose samples and cannot write, as a seed decides. To repeat one, set `HOLDFAST_TEST_SEED=7`.
@Suite(.timeLimit(.minutes(3)))
struct RandomCountingTests {
    static let seeds: [UInt64] = {
        let given = ProcessInfo.processInfo.environment["HOLDFAST_TEST_SEED"].flatMap(UInt64.init)
        return given.map { [$0] } ?? Array(30..<42)
    }()

    private static func settings(holdLimit: Int = 1 << 20) -> StepCounting.Settings {
        StepCounting.Settings(
            publishers: "tcp://10.0.0.1:5550", streams: ["accelerometer"], keep: 7 * 86_400 * CountingWorld.second,
            maximumDevices: 10, holdLimit: holdLimit)
    }

    /// The faults, each with its frequency in turns per thousand.
    private struct Faults {
        var kills = 0
        var lostBatches = 0
        var failingCommits = 0
        var forgotten = 0
        var unreachable = 0
        var restarts = 0
        var clockSteps = 0
    }

    /// Lets publishers sample for a minute under faults, and then recover.
    private func run(_ world: CountingWorld, _ faults: Faults, using random: inout SplitMix) {
        func happens(_ thousandths: Int) -> Bool { Int.random(in: 0..<1_000, using: &random) < thousandths }
        var own: [String] = []
        for turn in 0..<300 {
            world.wait(0.2)
            for index in world.walkers.indices {
                if happens(faults.restarts) { world.walkers[index].restart(uptime: 1_000 + Double(world.time) / 1e9) }
                if happens(faults.forgotten) {
                    world.walkers[index].forget(before: world.walkers[index].count - 100)
                }
                world.sample(index, 5, isLost: happens(faults.lostBatches))
                if happens(50) {
                    let first = Int.random(in: 0..<world.walkers[index].count, using: &random)
                    world.deliver(index, first..<min(first + 7, world.walkers[index].count))
                }
                if turn % 5 == 0, !happens(100) { world.describe(index) }
            }
            if turn % 5 == 0 { world.tick() }
            if happens(300) { world.finishWork(isFailing: happens(faults.failingCommits)) }
            for _ in 0..<2 where happens(500) {
                let isUnreachable = happens(faults.unreachable)
                world.recover(
                    reply: isUnreachable ? nil : (.random(in: 10...300, using: &random), happens(200) ? 9 : 0),
                    using: &random)
            }
            if happens(30) {
                let id = "\(turn)"
                let device = world.walkers[0].name.device
                _ = try? world.core.start(StepsStartUpdates(device: device, updateOn: 3), id: id, at: world.now)
                own.append(id)
            }
            if happens(20), let id = own.popLast() { _ = try? world.core.stop(id) }
            if happens(30) { _ = world.commitNow(of: happens(500) ? world.walkers[0].name.device : nil) }
            if happens(faults.clockSteps) {
                // Some jumps are large, like those of a clock that was set wrong, or right again.
                let isFar = happens(500)
                world.skew =
                    .random(in: isFar ? -300_000_000...300_000_000 : -3_600...3_600, using: &random)
                    * CountingWorld.second
            }
            if happens(faults.kills) {
                if happens(300) {
                    world.restart(isFailing: happens(200))
                } else {
                    world.kill(isCommitDurable: happens(500))
                }
            }
        }
        world.settle(using: &random)
    }

    private func comment(_ seed: UInt64) -> Comment { "HOLDFAST_TEST_SEED=\(seed)" }

    /// Publishers keep everything: each step is counted once, and no sample is lost.
    @Test(arguments: seeds)
    func eachStepCountsOnceOverKills(seed: UInt64) {
        var random = SplitMix(seed: seed)
        let world = CountingWorld(
            Self.settings(holdLimit: Bool.random(using: &random) ? 2_000 : 1 << 20),
            devices: .random(in: 1...2, using: &random))
        run(
            world,
            Faults(
                kills: .random(in: 0...20, using: &random), lostBatches: .random(in: 0...300, using: &random),
                failingCommits: .random(in: 0...500, using: &random), clockSteps: 5), using: &random)
        for walker in world.walkers {
            let dates = world.history.steps[walker.name.device, default: []].map(\.seconds).sorted()
            let expected = walker.steps.map { world.date($0).seconds }
            #expect(dates.count == expected.count, comment(seed))
            let isSame = zip(dates, expected).allSatisfy { abs($0 - $1) < 0.001 }
            #expect(isSame, comment(seed))
            let coverage = world.coverage(of: walker.name.device)
            #expect(coverage?.share == 1 && coverage?.gaps == [], comment(seed))
        }
        #expect(!world.isLossReported, comment(seed))
    }

    /// Publishers forget samples, restart and are unreachable: kept samples are counted, the rest is a gap, and no step counts
    /// twice.
    @Test(arguments: seeds)
    func whatIsNotCountedIsAGap(seed: UInt64) {
        var random = SplitMix(seed: seed)
        let world = CountingWorld(Self.settings(), devices: 1)
        run(
            world,
            Faults(
                kills: .random(in: 0...20, using: &random), lostBatches: .random(in: 0...300, using: &random),
                failingCommits: .random(in: 0...300, using: &random), forgotten: .random(in: 0...30, using: &random),
                unreachable: .random(in: 0...100, using: &random), restarts: .random(in: 0...5, using: &random)),
            using: &random)
        for walker in world.walkers {
            let dates = world.history.steps[walker.name.device, default: []].map(\.seconds).sorted()
            let isOnce = zip(dates, dates.dropFirst()).allSatisfy { $1 - $0 > 0.2 }
            #expect(isOnce, comment(seed))
            let coverage = world.coverage(of: walker.name.device)
            #expect((coverage?.share == 1) == (coverage?.gaps == []), comment(seed))
        }
    }

    /// The history is unwritable for a long time: the backlog in memory is bounded, steps that exceed it are reported,
    /// and the history does not claim their time.
    @Test(arguments: seeds.prefix(6))
    func whatWaitsForTheHistoryIsBounded(seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        var settings = Self.settings()
        settings.maximumPending = .random(in: 0...100, using: &random)
        let world = CountingWorld(settings, devices: 1)
        world.areTotalsExact = false
        world.isHistoryBroken = true
        run(world, Faults(lostBatches: 50), using: &random)
        let walker = world.walkers[0]
        let stored = world.history.steps[walker.name.device]?.count ?? 0
        #expect(stored + world.core.droppedSteps == walker.steps.count, comment(seed))
        #expect(world.isLossReported == (world.core.droppedSteps > 0), comment(seed))
        #expect((world.health["history"] != nil) == (world.core.droppedSteps > 0), comment(seed))
        #expect(world.history.subscriptions[walker.name.device]?.numberOfSteps == walker.steps.count, comment(seed))
        let kept = world.history.steps[walker.name.device, default: []].map(\.seconds)
        let dropped = walker.steps.map { world.date($0).seconds }.filter { step in
            !kept.contains { abs($0 - step) < 0.001 }
        }
        #expect(dropped.count == world.core.droppedSteps, comment(seed))
        let coverage = try #require(world.coverage(of: walker.name.device))
        #expect((coverage.share == 1) == dropped.isEmpty, comment(seed))
        let areInGaps = dropped.allSatisfy { step in
            coverage.gaps.contains { $0.from.seconds - 0.001 < step && step < $0.to.seconds + 0.001 }
        }
        #expect(areInGaps, comment(seed))
    }

    @Test func aSeedRepeatsItsRun() {
        let traces = (0..<2).map { _ in
            var random = SplitMix(seed: 5)
            let world = CountingWorld(Self.settings(), devices: 2)
            run(world, Faults(kills: 10, lostBatches: 100, failingCommits: 100, forgotten: 10), using: &random)
            return world.trace
        }
        #expect(traces[0] == traces[1])
    }
}
