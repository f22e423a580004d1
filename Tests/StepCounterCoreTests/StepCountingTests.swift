import Messages
import TestSupport
import Testing

@testable import StepCounterCore

/// The step counter's decisions, one at a time.
@Suite struct StepCountingTests {
    private static func settings(
        streams: [String] = ["accelerometer"], maximumDevices: Int = 10
    ) -> StepCounting.Settings {
        StepCounting.Settings(
            publishers: "tcp://10.0.0.1:5550", streams: streams, keep: 3_600 * CountingWorld.second,
            maximumDevices: maximumDevices, holdLimit: 1 << 20)
    }

    /// Lets a publisher sample for some seconds, with a commit each second.
    private func walk(_ world: CountingWorld, _ seconds: Int, of index: Int = 0) {
        for _ in 0..<seconds {
            world.wait(1)
            world.sample(index, VirtualWalker.rate)
            world.describe(index)
            world.tick()
            while world.isBusy { world.finishWork(isFailing: false) }
        }
    }

    private func recover(_ world: CountingWorld) {
        var random = SplitMix(seed: 1)
        while world.isRecovering { world.recover(reply: (500, 0), using: &random) }
    }

    /// The samples that were lost in this run.
    private func gaps(_ world: CountingWorld) -> [Range<Int>] {
        world.events.compactMap(\.gap).map { $0.from..<$0.from + $0.count }
    }

    private func steps(_ world: CountingWorld, _ device: String = "phone0") -> [WallTime] {
        world.history.steps[device, default: []].sorted()
    }

    /// Whatever clock readings a publisher sends, the steps of others are counted.
    @Test(arguments: [-1e300, -9.3e9, 9.3e9, 1e300], [Int64.min, 0, .max])
    func aClockThatCannotBeStopsNobody(uptime: Double, date: Int64) {
        let world = CountingWorld(Self.settings(), devices: 2)
        for _ in 0..<2 {
            world.saidClock = ClockReading(uptime: uptime, date: WallTime(nanosecondsSince1970: date))
            world.describe(0)
            world.sample(0, VirtualWalker.rate)
            world.describe(0)
            world.walkers[0].restart(uptime: 5_000)
            world.saidClock = nil
            world.describe(1)
            walk(world, 10, of: 1)
        }
        #expect(steps(world, "phone1").count == world.walkers[1].steps(from: 0).count)
    }

    // MARK: Missing samples

    @Test func aStepCounterThatJoinsLateCountsWhatIsKept() {
        let world = CountingWorld(Self.settings(), devices: 1)
        world.sample(0, 60 * VirtualWalker.rate)
        world.walkers[0].forget(before: 500)
        world.describe(0)
        walk(world, 1)
        // The request for samples was not even answered.
        world.kill(isCommitDurable: false)
        world.describe(0)
        recover(world)
        walk(world, 1)
        #expect(gaps(world) == [0..<500])
        #expect(world.events.first { $0.gap != nil }?.gap?.reason == .notRetained)
        #expect(steps(world).count == world.walkers[0].steps(from: 500).count)
        // No step counter was running that could have counted it.
        #expect(!world.isLossReported)
    }

    @Test func samplesThatAreNoLongerKeptAreReportedAsLost() {
        let world = CountingWorld(Self.settings(), devices: 1)
        world.describe(0)
        walk(world, 20)
        world.walkers[0].forget(before: 500)
        world.sample(0, 250, isLost: true)
        world.walkers[0].forget(before: 625)
        walk(world, 20)
        recover(world)
        walk(world, 1)
        #expect(gaps(world) == [500..<625])
        #expect(world.events.first { $0.gap != nil }?.stream == world.walkers[0].name)
        #expect(world.health["loss"]?.contains("125 samples were lost") == true)
        #expect(world.isLossReported)
        #expect(steps(world).count > 30)
        world.wait(61)
        world.tick()
        #expect(world.health["loss"] == nil)
    }

    // MARK: Restarts

    @Test func aPublisherThatRestartsIsCountedOn() {
        let world = CountingWorld(Self.settings(), devices: 1)
        world.describe(0)
        walk(world, 10)
        #expect(world.events.last?.change != .pause)
        world.walkers[0].restart(uptime: 1_010)
        // Before the new epoch is described.
        world.sample(0, 10 * VirtualWalker.rate)
        world.describe(0)
        recover(world)
        walk(world, 10)
        #expect(steps(world).count == world.walkers[0].steps.count)
        #expect(world.events.contains { $0.change == .pause })
        #expect(gaps(world).isEmpty && !world.isLossReported)
    }

    /// Samples that its publisher took after that, before it ended, are lost; this also holds if the machine only slept
    /// meanwhile.
    @Test(arguments: [false, true])
    func aPublisherThatRestartsUnheardHasTakenSamplesAlong(hasSlept: Bool) {
        let world = CountingWorld(Self.settings(), devices: 1)
        world.describe(0)
        walk(world, 10)
        if hasSlept { world.slept = 20 * CountingWorld.second } else { world.wait(20) }
        world.walkers[0].restart(uptime: 1_030)
        world.describe(0)
        #expect(gaps(world) == [250..<250] && world.isLossReported)
        #expect(world.events.first { $0.gap != nil }?.gap?.reason == .epochEnded)
        walk(world, 10)
        #expect(gaps(world).count == 1)
    }

    @Test(arguments: [StreamDescription.State.ended, .stopped])
    func aPublisherThatSaidItsEndHasLostNothing(state: StreamDescription.State) {
        let world = CountingWorld(Self.settings(), devices: 1)
        world.describe(0)
        walk(world, 10)
        world.walkers[0].state = state
        world.describe(0)
        world.wait(20)
        world.walkers[0].state = .running
        world.walkers[0].restart(uptime: 1_030)
        walk(world, 10)
        #expect(gaps(world).isEmpty && !world.isLossReported)
    }

    @Test func theEndOfABoutSaysHowItWasWalked() throws {
        let world = CountingWorld(Self.settings(), devices: 1)
        world.describe(0)
        walk(world, 40)
        let update = try #require(world.events.last { $0.change == .update && $0.confidence != nil })
        #expect(update.gait == nil)
        let pause = try #require(world.events.first { $0.change == .pause })
        let gait = try #require(pause.gait)
        let own = steps(world).filter { $0 <= pause.date }
        #expect(gait.steps == own.count)
        #expect(abs(gait.walkingTime - (pause.date.seconds - own[0].seconds)) < 0.001)
        #expect(abs((gait.cadence ?? 0) - 1.8) < 0.1)
        #expect(gait.strideTime != nil && gait.bouts == nil)
        #expect((0.01...0.99).contains(try #require(pause.confidence)))
        #expect(world.events.filter { $0.change == .resume }.allSatisfy { $0.confidence == nil && $0.gait == nil })
    }

    /// The bout's first steps are only in the history.
    @Test func aBoutInWhichItStartsHasNoGait() throws {
        let world = CountingWorld(Self.settings(), devices: 1)
        world.describe(0)
        walk(world, 15)
        world.restart(isFailing: false)
        walk(world, 25)
        recover(world)
        let pause = try #require(world.events.first { $0.change == .pause })
        #expect(pause.gait == nil && pause.confidence != nil)
    }

    @Test func aPublisherThatRestartsMeanwhileHasTakenSamplesAlong() {
        let world = CountingWorld(Self.settings(), devices: 1)
        world.describe(0)
        walk(world, 10)
        world.restart(isFailing: false)
        world.walkers[0].restart(uptime: 1_010)
        world.sample(0, 10 * VirtualWalker.rate)
        world.describe(0)
        recover(world)
        walk(world, 1)
        #expect(steps(world).count == world.walkers[0].steps.count)
        #expect(gaps(world) == [250..<250])
        #expect(world.events.first { $0.gap != nil }?.gap?.reason == .epochEnded)
        #expect(world.isLossReported)
    }

    /// The stored detector is some seconds behind the counted samples, and processes those seconds again.
    @Test func whatWasCountedBeforeAKillIsNotLostAfterIt() throws {
        let world = CountingWorld(Self.settings(), devices: 1)
        world.describe(0)
        walk(world, 9)
        let position = try #require(world.history.positions[world.walkers[0].name]?.position)
        let before = try #require(position.snapshot).next
        #expect(before < position.next)
        let counted = steps(world)
        #expect(counted.count > 5)

        world.kill(isCommitDurable: false)
        world.walkers[0].forget(before: before + 20)
        walk(world, 9)
        recover(world)
        walk(world, 10)
        #expect(!world.events.contains { $0.change == .gap } && !world.isLossReported)
        let all = steps(world)
        #expect(Array(all.prefix(counted.count)) == counted)
        let isOnce = zip(all, all.dropFirst()).allSatisfy { $1.seconds - $0.seconds > 0.3 }
        #expect(isOnce)

        world.kill(isCommitDurable: false)
        let next = world.walkers[0].count
        world.walkers[0].forget(before: next)
        world.describe(0)
        recover(world)
        #expect(!world.events.contains { $0.change == .gap })
        world.sample(0, 50, isLost: true)
        world.walkers[0].forget(before: next + 40)
        world.describe(0)
        recover(world)
        #expect(gaps(world) == [next..<next + 40])
        #expect(world.isLossReported)
    }

    @Test func aDeviceThatChangedItsStreamIsCountedOnAfterARestart() {
        let world = CountingWorld(Self.settings(streams: ["accelerometer", "raw"]), devices: 1)
        world.describe(0)
        walk(world, 20)
        world.kill(isCommitDurable: false)
        // The other stream may return at any moment; then this one is dropped.
        world.walkers.append(VirtualWalker("phone0", "raw", uptime: 1_000))
        walk(world, 4, of: 1)
        #expect(world.health["refused"]?.contains("is waited for") == true)
        let before = steps(world).count
        let first = world.walkers[1].count + 2 * VirtualWalker.rate
        walk(world, 20, of: 1)
        #expect(steps(world).count == before + world.walkers[1].steps(from: first).count)
        #expect(world.health["refused"] == nil)
        #expect(Array(world.history.positions.keys) == [world.walkers[1].name])

        world.kill(isCommitDurable: false)
        world.sample(1, 100, isLost: true)
        world.describe(1)
        #expect(world.isRecovering)
        recover(world)
        walk(world, 30, of: 1)
        #expect(world.history.positions[world.walkers[1].name]?.position.next == world.walkers[1].count)
        #expect(!world.isLossReported)
    }

    /// The samples that its publisher keeps of the other stream are of the time that was counted.
    @Test func aDeviceWhoseStreamIsNoLongerNamedIsCountedOnInAnother() {
        let world = CountingWorld(Self.settings(), devices: 1)
        world.describe(0)
        walk(world, 20)
        world.settings.streams = ["raw"]
        world.kill(isCommitDurable: false)
        let before = steps(world).count
        world.walkers.append(VirtualWalker("phone0", "raw", uptime: 1_000))
        world.sample(1, 20 * VirtualWalker.rate)
        let first = world.walkers[1].count
        world.describe(1)
        #expect(!world.isRecovering)
        recover(world)
        walk(world, 20, of: 1)
        #expect(steps(world).count == before + world.walkers[1].steps(from: first).count)
        #expect(Array(world.history.positions.keys) == [world.walkers[1].name])
        #expect(world.health["refused"] == nil && !world.isLossReported)
    }

    @Test func aStreamThatIsSilentForLongKeepsItsPosition() {
        let world = CountingWorld(Self.settings(), devices: 1)
        world.describe(0)
        walk(world, 30)
        let counted = steps(world).count
        #expect(counted > 20)
        world.wait(4_000)
        world.tick()
        while world.isBusy { world.finishWork(isFailing: false) }
        #expect(steps(world).isEmpty)
        world.kill(isCommitDurable: false)
        world.describe(0)
        recover(world)
        walk(world, 15)
        #expect((world.history.positions[world.walkers[0].name]?.position.next ?? 0) > 30 * VirtualWalker.rate)
        #expect(!world.events.contains { $0.change == .gap })
    }

    @Test func aPositionOfAnEarlierRunIsRemovedWhenItIsOld() {
        let world = CountingWorld(Self.settings(), devices: 1)
        world.describe(0)
        walk(world, 10)
        world.wait(4_000)
        world.kill(isCommitDurable: false)
        func run(_ minutes: Int) {
            for _ in 0..<minutes {
                world.wait(60)
                world.tick()
                while world.isBusy { world.finishWork(isFailing: false) }
            }
        }
        // It is still unknown whether the program was stopped for that long or the clock is wrong.
        run(58)
        #expect(!world.history.positions.isEmpty)
        run(4)
        #expect(world.history.positions.isEmpty)
    }

    // MARK: This machine's clock

    /// The clock is set a year ahead by mistake, and corrected a while later, even if the step counter was killed meanwhile.
    @Test(arguments: [false, true])
    func aClockThatJumpsAheadTakesNothingFromTheHistory(isKilled: Bool) throws {
        let world = CountingWorld(Self.settings(), devices: 1)
        world.describe(0)
        walk(world, 70)
        let counted = steps(world)
        #expect(counted.count > 40)
        _ = try world.core.start(
            StepsStartUpdates(device: "phone0", updateOn: 1, name: "study", lifetime: 7_200), id: "a", at: world.now)

        world.skew = 365 * 86_400 * CountingWorld.second
        walk(world, 120)
        #expect(world.health["jump"]?.contains("this machine's clock jumped from 2026-11-21") == true)
        if isKilled {
            world.kill(isCommitDurable: false)
            world.describe(0)
        }
        walk(world, 120)
        // Queries use the same clock for what is too old.
        #expect(world.core.historyDate(at: world.now) < counted[0].later(seconds: 3_600))
        world.skew = 0
        walk(world, 120)
        #expect(world.health["jump"] == nil)
        #expect(Array(steps(world).prefix(counted.count)) == counted)
        #expect(steps(world).count == world.walkers[0].steps.count)
        #expect(world.history.positions[world.walkers[0].name] != nil)
        #expect(Set(world.history.subscriptions.keys) == ["phone0", "a"])
        #expect(!world.events.contains { $0.change == .end } && !world.isLossReported)
    }

    @Test func aClockThatStaysAheadIsFollowed() {
        let world = CountingWorld(Self.settings(), devices: 1)
        world.describe(0)
        walk(world, 70)
        #expect(steps(world).count > 40)
        world.skew = 365 * 86_400 * CountingWorld.second
        for _ in 0..<62 {
            world.wait(60)
            world.describe(0)
            world.tick()
            while world.isBusy { world.finishWork(isFailing: false) }
        }
        #expect(steps(world).isEmpty && world.health["jump"] == nil)
        #expect(world.trace.contains { $0.contains("the step history follows the clock") })
    }

    /// The machine was off for a weekend; its clock is believed after a day, and then advances by the whole weekend at once.
    @Test(arguments: [false, true])
    func asTheClockIsFollowedWhatWasRenewedGoesOn(isKilled: Bool) throws {
        var settings = Self.settings()
        settings.keep = 7 * 86_400 * CountingWorld.second
        let world = CountingWorld(settings, devices: 1)
        func renew(_ name: String, lifetime: Double) throws {
            let request = StepsStartUpdates(device: "phone0", updateOn: 1_000, name: name, lifetime: lifetime)
            _ = try world.core.start(request, id: name, at: world.now)
        }
        func pass() {
            world.wait(600)
            world.tick()
            while world.isBusy { world.finishWork(isFailing: false) }
        }
        world.describe(0)
        walk(world, 70)
        try renew("used", lifetime: 3_600)
        try renew("forgotten", lifetime: 3 * 86_400)
        walk(world, 70)
        world.slept = 62 * 3_600 * CountingWorld.second
        world.kill(isCommitDurable: false)
        let start = world.time
        while world.time - start < 86_400 * CountingWorld.second {
            try renew("used", lifetime: 3_600)
            if world.time - start == 36_000 * CountingWorld.second {
                try renew("once", lifetime: 2 * 86_400)
                pass()
                if isKilled { world.kill(isCommitDurable: false) }
            }
            pass()
        }
        #expect(world.trace.contains { $0.contains("the step history follows the clock") })
        let known = Dictionary(uniqueKeysWithValues: world.core.list("phone0").map { ($0.name ?? "", $0) })
        let renewed = try #require(known["used"]).renewedDate
        #expect((0...1_200).contains(world.now.date.seconds - renewed.seconds))
        #expect(known["once"] != nil)
        // A subscription that was not renewed since that weekend has expired. After a kill, this is not known.
        #expect((known["forgotten"] != nil) == isKilled)
        // The expiry is stored too, and then the clock.
        world.wait(10)
        world.tick()
        while world.isBusy { world.finishWork(isFailing: false) }
        #expect(world.history.subscriptions["used"]?.renewedDate == renewed)
        world.kill(isCommitDurable: false)
        world.tick()
        #expect(world.core.list("phone0").contains { $0.name == "used" })
        for _ in 0..<6 { pass() }
        #expect(!world.core.list("phone0").contains { $0.name == "used" })
    }

    /// The clock was a month ahead and is corrected. Of two devices, only one is heard after that.
    @Test(arguments: [false, true])
    func afterTheClockIsFollowedBackARestartEndsNoSubscription(isKilledAtOnce: Bool) throws {
        let world = CountingWorld(Self.settings(), devices: 2)
        func isFollowed() -> Bool { world.trace.contains { $0.contains("the step history follows the clock") } }
        world.skew = 30 * 86_400 * CountingWorld.second
        world.kill(isCommitDurable: false)
        for index in 0...1 { world.describe(index) }
        for index in 0...1 { walk(world, 12, of: index) }
        world.skew = 0
        for minute in 0..<62 where !isFollowed() {
            if minute == 30 {
                let request = StepsStartUpdates(device: "phone0", updateOn: 1_000)
                _ = try world.core.start(request, id: "a", at: world.now)
            }
            world.wait(60)
            world.tick()
            while world.isBusy { world.finishWork(isFailing: false) }
        }
        #expect(isFollowed())
        if !isKilledAtOnce { walk(world, 12) }
        #expect(world.history.positions.count == 2)
        world.kill(isCommitDurable: false)
        world.tick()
        #expect(world.core.list("phone0").map(\.subscription) == ["a"])
    }

    // MARK: Devices that are not known

    @Test func aDeviceThatWasNeverHeardOfAppears() throws {
        let world = CountingWorld(Self.settings(), devices: 1)
        world.walkers.append(VirtualWalker("watch", uptime: 1_000))
        func start(_ device: String, _ id: String, updateOn: Int = 1) throws -> Bool {
            _ = try world.core.start(StepsStartUpdates(device: device, updateOn: updateOn), id: id, at: world.now)
            return world.core.isKnown(device)
        }
        #expect(try !start("watch", "a") && !start("phone0", "b"))
        world.describe(1)
        #expect(world.events.map(\.change) == [.appear] && world.events.map(\.device) == ["watch"])
        #expect(world.events.first?.stream == world.walkers[1].name)
        #expect(world.core.list(nil).map(\.isKnown) == [true, false, false])
        walk(world, 2, of: 1)
        #expect(try start("watch", "c"))
        _ = world.commitNow()
        world.finishWork(isFailing: false)
        // The device stays known while it is silent, and after a restart.
        world.kill(isCommitDurable: false)
        #expect(world.core.isKnown("watch") && !world.core.isKnown("phone0"))
        world.describe(1)
        recover(world)
        walk(world, 20, of: 1)
        #expect(!world.events.contains { $0.change == .appear })
        #expect(world.core.list("watch").map(\.subscription) == ["a", "c"])
        #expect(world.core.list("watch").first?.numberOfSteps == world.walkers[1].steps.count)
    }

    @Test func aSubscriptionThatEndsByItselfIsReported() throws {
        let world = CountingWorld(Self.settings(), devices: 1)
        world.describe(0)
        for device in ["phone0", "watch"] {
            let request = StepsStartUpdates(device: device, updateOn: 1_000, lifetime: 20)
            _ = try world.core.start(request, id: "\(device)-a", at: world.now)
        }
        walk(world, 20)
        #expect(!world.events.contains { $0.change == .end })
        walk(world, 1)
        let ends = world.events.filter { $0.change == .end }.sorted { $0.device < $1.device }
        #expect(ends.map(\.subscription) == ["phone0-a", "watch-a"])
        #expect(ends.map(\.numberOfSteps) == [world.walkers[0].steps(from: 0).count, 0])
        walk(world, 1)
        #expect(Array(world.history.subscriptions.keys) == ["phone0"])
    }

    // MARK: Coverage

    @Test func anUpdateReportsWhatWasNotCounted() throws {
        let world = CountingWorld(Self.settings(), devices: 1)
        world.describe(0)
        walk(world, 10)
        _ = try world.core.start(StepsStartUpdates(device: "phone0", updateOn: 1), id: "a", at: world.now)
        walk(world, 5)
        let whole = try #require(world.events.last { $0.subscription == "a" })
        #expect(try #require(whole.coverage) > 0.98 && whole.gaps == nil)

        world.sample(0, 5 * VirtualWalker.rate, isLost: true)
        world.wait(5)
        world.walkers[0].forget(before: 20 * VirtualWalker.rate)
        walk(world, 20)
        recover(world)
        walk(world, 5)
        let update = try #require(world.events.last { $0.subscription == "a" })
        let gap = try #require(update.gaps?.first)
        #expect(update.gaps?.count == 1 && gap.reason.rawValue == "notRetained")
        #expect(gap.samples == 5 * VirtualWalker.rate)
        #expect(abs(gap.to.seconds - gap.from.seconds - 5) < 0.1)
        let seconds = update.date.seconds - (update.startDate?.seconds ?? 0)
        #expect(try abs(#require(update.coverage) - (1 - 5 / seconds)) < 0.02)
    }

    @Test func theCoverageOfAnUpdateIsAbsentIfEarlierSpansAreForgotten() throws {
        let world = CountingWorld(Self.settings(), devices: 1)
        world.describe(0)
        walk(world, 1)
        _ = try world.core.start(StepsStartUpdates(device: "phone0", updateOn: 1), id: "a", at: world.now)
        // The device's clock jumps each second, so each second is a span.
        for _ in 0..<150 {
            world.walkers[0].ahead += 5
            walk(world, 1)
        }
        let updates = world.events.filter { $0.subscription == "a" }
        let first = try #require(updates.first)
        let last = try #require(updates.last)
        #expect(try #require(first.coverage) < 0.5)
        #expect(last.coverage == nil && last.gaps?.count == 10)
    }

    @Test func aQueryFindsAllSamplesThatWereCounted() {
        let world = CountingWorld(Self.settings(), devices: 1)
        world.describe(0)
        walk(world, 13)
        // Nobody walks, so no commit is due, and the last stored detector is seconds old.
        world.wait(2)
        world.sample(0, 2 * VirtualWalker.rate)
        let commit = world.commitNow(of: "phone0")
        #expect(!world.core.isCommitted(commit))
        world.finishWork(isFailing: false)
        #expect(world.core.isCommitted(commit) && world.coverage(of: "phone0")?.share == 1)
        #expect(
            world.core.isCommitted(world.commitNow(of: "phone0"))
                && world.core.isCommitted(world.commitNow(of: "nobody")))
        // Samples that could not be stored are not reported as counted.
        world.sample(0, VirtualWalker.rate)
        _ = world.commitNow(of: "phone0")
        world.finishWork(isFailing: true)
        #expect(world.coverage(of: "phone0")?.gaps.map(\.reason) == [.notArrived])
        _ = world.commitNow(of: "phone0")
        world.finishWork(isFailing: false)
        #expect(world.coverage(of: "phone0")?.share == 1)
    }

    // MARK: Health

    @Test func aClockThatJumpsMakesNoSteps() {
        let world = CountingWorld(Self.settings(), devices: 1)
        world.describe(0)
        for ahead in [0.0, -5, 3_600, -3_600, 0] {
            world.walkers[0].ahead = ahead
            walk(world, 10)
        }
        #expect(steps(world).count == world.walkers[0].steps.count)
        #expect(world.health["clock"] == nil)
        world.walkers[0].ahead = 3_600
        walk(world, 1)
        #expect(
            world.health["clock"]
                == "the clock of phone0 is 3600 s ahead of this machine's: its steps have its dates; set the clock")
    }

    @Test func aStreamWithoutUnitIsRefusedUntilItHasOne() {
        let world = CountingWorld(Self.settings(), devices: 1)
        world.walkers[0].unit = nil
        walk(world, 10)
        #expect(world.health["refused"]?.contains("phone0/accelerometer is not counted: it has no unit") == true)
        world.walkers[0].unit = "furlongs"
        walk(world, 10)
        #expect(world.health["refused"]?.contains("'furlongs'") == true)
        world.walkers[0].unit = "g"
        world.describe(0)
        recover(world)
        walk(world, 10)
        #expect(steps(world).count == world.walkers[0].steps.count)
        #expect(world.health["refused"] == nil)
    }

    @Test func theUnitOfAStreamThatHasNoneCanBeConfigured() {
        var settings = Self.settings()
        settings.common.unit = .g
        let world = CountingWorld(settings, devices: 1)
        world.walkers[0].unit = nil
        world.describe(0)
        walk(world, 20)
        #expect(!steps(world).isEmpty && steps(world).count == world.walkers[0].steps.count)
    }

    @Test func aDeviceIsCountedInOneStream() {
        let world = CountingWorld(Self.settings(streams: ["accelerometer", "raw"]), devices: 1)
        world.describe(0)
        walk(world, 10)
        world.walkers.append(VirtualWalker("phone0", "raw", uptime: 1_000))
        walk(world, 10, of: 1)
        #expect(world.health["refused"]?.contains("name only the stream to count") == true)
        walk(world, 10)
        #expect(steps(world).count == world.walkers[0].steps.count)
    }

    @Test func noMoreDevicesAreCountedThanMayBe() {
        let world = CountingWorld(Self.settings(maximumDevices: 1), devices: 2)
        world.describe(0)
        world.describe(1)
        walk(world, 20)
        walk(world, 20, of: 1)
        #expect(world.health["refused"]?.contains("--maximum-devices") == true)
        #expect(steps(world).count == world.walkers[0].steps.count && steps(world, "phone1").isEmpty)
    }

    @Test func twoPublishersOfOneStreamAreReported() {
        let world = CountingWorld(Self.settings(), devices: 1)
        world.walkers.append(VirtualWalker("phone0", epoch: 7, uptime: 1_000))
        for _ in 0..<3 {
            world.describe(0)
            walk(world, 1, of: 1)
        }
        #expect(world.health["twice"]?.contains("two publishers have a stream phone0/accelerometer") == true)
    }

    @Test func whileNoPublisherIsHeardHealthReportsIt() {
        let world = CountingWorld(Self.settings(), devices: 1)
        world.describe(0)
        world.tick()
        #expect(world.health["publishers"] == nil && world.core.isAvailable("phone0", at: world.now))
        #expect(world.core.isAvailable(nil, at: world.now) && !world.core.isAvailable("watch", at: world.now))
        world.wait(6)
        world.tick()
        #expect(world.health["publishers"]?.contains("received from a publisher at tcp://10.0.0.1:5550") == true)
        #expect(!world.core.isAvailable(nil, at: world.now))
    }

    @Test func aRefusedStreamThatIsNoLongerDescribedIsForgotten() {
        let world = CountingWorld(Self.settings(), devices: 1)
        world.walkers[0].unit = nil
        for _ in 0..<100 {
            world.wait(1)
            world.describe(0)
            world.tick()
        }
        #expect(world.health["refused"]?.contains("--unit") == true)
        #expect(world.trace.count { $0.contains("is not counted") } == 1)
        world.wait(61)
        world.tick()
        #expect(world.health["refused"] == nil)
        #expect(world.health["publishers"] != nil)
    }

    // MARK: The history

    @Test func subscriptionsThatComeAndGoDoNotPileUpWhileTheHistoryCanNotBeWritten() throws {
        let world = CountingWorld(Self.settings(), devices: 1)
        world.isHistoryBroken = true
        for number in 0..<3_000 {
            let request = StepsStartUpdates(device: "phone0", updateOn: 1)
            _ = try world.core.start(request, id: "\(number)", at: world.now)
            // Commits that are begun, under way, or failed.
            if number.isMultiple(of: 3) { _ = world.commitNow() }
            if number.isMultiple(of: 6) { world.finishWork(isFailing: true) }
            #expect(try world.core.stop("\(number)") == 0)
            if number.isMultiple(of: 2) { world.finishWork(isFailing: true) }
        }
        world.finishWork(isFailing: true)
        #expect(world.core.pending.stopped.count <= 1 && world.core.pending.subscriptions.count <= 1)
        // A subscription that is in the history is removed there later.
        #expect(try world.core.stop("phone0") == 0)
        world.isHistoryBroken = false
        world.wait(1)
        world.tick()
        while world.isBusy { world.finishWork(isFailing: false) }
        #expect(world.history.subscriptions.isEmpty)
    }

    @Test func aWaitForACommitEndsWithTheNextOne() throws {
        let world = CountingWorld(Self.settings(), devices: 1)
        #expect(world.core.isCommitted(world.commitNow()))
        _ = try world.core.start(StepsStartUpdates(device: "phone0", updateOn: 1), id: "a", at: world.now)
        let first = world.commitNow()
        #expect(!world.core.isCommitted(first) && world.isBusy)
        _ = try world.core.start(StepsStartUpdates(device: "phone0", updateOn: 1), id: "b", at: world.now)
        let second = world.commitNow()
        #expect(second > first && world.commitNow() == second)
        world.finishWork(isFailing: false)
        #expect(world.core.isCommitted(first) && !world.core.isCommitted(second) && world.isBusy)
        // At least the write was attempted.
        world.finishWork(isFailing: true)
        #expect(world.core.isCommitted(second))
        #expect(world.history.subscriptions["a"] != nil && world.history.subscriptions["b"] == nil)
    }

    /// Immediately, and not a minute later with the next steps that are too old.
    @Test func whatIsOfADiscardedSessionIsRemovedAtOnce() {
        let world = CountingWorld(Self.settings(), devices: 1)
        var removals: Int { world.removals }
        world.describe(0)
        walk(world, 5)
        // Reused positions may not be committed yet.
        world.core.noteDiscard(at: world.now)
        walk(world, 4)
        #expect(removals == 0)
        walk(world, 2)
        #expect(removals == 1)
        for count in 2...4 {
            walk(world, 3)
            #expect(removals == count - 1)
            world.core.noteDiscard(at: world.now)
            world.perform()
            while world.isBusy { world.finishWork(isFailing: false) }
            #expect(removals == count)
        }
        // A removal waits for the current write, but not for a tick.
        walk(world, 3)
        for _ in 0..<2 {
            world.core.noteDiscard(at: world.now)
            world.perform()
            #expect(world.isBusy)
        }
        while world.isBusy { world.finishWork(isFailing: false) }
        #expect(removals == 6)
        // Old steps are still removed each minute.
        walk(world, 61)
        #expect(removals == 7)
    }

    @Test func whatIsAnsweredWhileItStopsIsTrueAfterwards() throws {
        let world = CountingWorld(Self.settings(), devices: 1)
        world.describe(0)
        walk(world, 20)
        let waiting = world.commitNow()
        world.core.stop(at: world.now)
        world.perform()
        #expect(throws: RequestError.self) { try world.core.stop("phone0") }
        #expect(throws: RequestError.self) {
            try world.core.start(StepsStartUpdates(device: "phone0", updateOn: 1), id: "a", at: world.now)
        }
        while world.isBusy { world.finishWork(isFailing: false) }
        #expect(world.core.isOver && world.core.isCommitted(waiting))
        #expect(world.history.positions[world.walkers[0].name]?.position.snapshot?.next == world.walkers[0].count)
    }

    // MARK: Sleep

    /// A bout's first steps are credited seconds later, by batches whose clocks are ahead by the sleep.
    @Test func stepsFromBeforeADevicesSleepHaveTheirOwnDates() {
        let world = CountingWorld(Self.settings(), devices: 1)
        world.describe(0)
        walk(world, 1)
        #expect(steps(world).isEmpty, "not certain yet")
        let asleep = world.date(world.walkers[0].uptime(world.walkers[0].count))
        world.walkers[0].ahead += 60
        walk(world, 20)
        let expected = world.walkers[0].steps.map { $0 < 1_001 ? world.date($0) : world.date($0, ahead: 60) }
        #expect(steps(world).count == expected.count)
        #expect(zip(steps(world), expected).allSatisfy { abs($0.seconds - $1.seconds) < 1e-3 })
        #expect(expected.contains { $0 < asleep })
    }

    /// While this machine slept, its monotonic clock stood still, but the device's did not.
    @Test func stepsFromBeforeASleepOfThisMachineAreInTheSubscriptionThatHadBegun() throws {
        let world = CountingWorld(Self.settings(), devices: 1)
        world.describe(0)
        walk(world, 3)
        _ = try world.core.start(StepsStartUpdates(device: "phone0", updateOn: 1), id: "a", at: world.now)
        walk(world, 1)
        world.slept += 2 * CountingWorld.second
        world.sample(0, 2 * VirtualWalker.rate)
        walk(world, 20)
        let total = try #require(world.events.last { $0.subscription == "a" }?.numberOfSteps)
        #expect(total == world.walkers[0].steps.count { $0 >= 1_003 })
    }

    /// A relay's descriptions have uptimes of twenty minutes ago: it had no connection meanwhile, or the device slept.
    @Test(arguments: [false, true])
    func stepsThatARelayDeliversLateAreOnlyInEarlierSubscriptions(hasSlept: Bool) throws {
        let world = CountingWorld(Self.settings(), devices: 1)
        world.walkers[0].source = "relay"
        world.describe(0)
        walk(world, 1)
        world.wait(1_200)
        if hasSlept { world.walkers[0].ahead = 1_200 }
        _ = try world.core.start(StepsStartUpdates(device: "phone0", updateOn: 1), id: "a", at: world.now)
        for second in 1...30 {
            let uptime = 1_000 + Double(second)
            world.saidClock = ClockReading(
                uptime: uptime, date: world.date(uptime, ahead: world.walkers[0].ahead))
            world.describe(0)
            world.sample(0, VirtualWalker.rate)
            world.tick()
            #expect(world.health["clock"] == nil)
            while world.isBusy { world.finishWork(isFailing: false) }
            world.wait(1)
        }
        let total = try #require(world.core.list("phone0").first { $0.subscription == "a" }?.numberOfSteps)
        let later = world.walkers[0].steps.count { $0 >= 1_001 }
        #expect(later > 20 && total == (hasSlept ? later : 0))
    }
}

extension WallTime {
    fileprivate func later(seconds: Double) -> WallTime { WallTime(seconds: self.seconds + seconds) }
}
