import FoundationEssentials
import Messages
import RelayCore
import ServiceKit
import TestSupport
import Testing

/// Which machine may run a recorder, and when.
@Suite(.timeLimit(.minutes(1)))
struct LeadershipTests {
    private static let second: Int64 = 1_000_000_000
    private static let seeds: [UInt64] = {
        // HOLDFAST_LEASE_SEEDS=1000 tries more; HOLDFAST_LEASE_SEED=17 tries one.
        let environment = ProcessInfo.processInfo.environment
        if let seed = environment["HOLDFAST_LEASE_SEED"].flatMap({ UInt64($0) }) { return [seed] }
        if let count = environment["HOLDFAST_LEASE_SEEDS"].flatMap({ UInt64($0) }) { return Array(1...count) }
        // The last ones failed once.
        return Array(1...12) + [422, 638, 821]
    }()

    @Test(arguments: seeds)
    func twoRecordersNeverRunAtOnceAndOneRunsInTheEnd(seed: UInt64) {
        var world = LeaseWorld(seed: seed, machines: 3)
        world.calmAt = 500 * Self.second
        world.run(until: 600 * Self.second)
        #expect(world.mostAtOnce == 1, "seed \(seed)")
        #expect(!world.hasLostASession, "seed \(seed)")
        #expect(!world.hasMisjudgedADirectory, "seed \(seed)")
        #expect(!world.hasForgottenASession, "seed \(seed)")
        #expect(world.machines.count { $0.recorder != nil } == 1, "seed \(seed)")
        #expect(world.value?.sessions.map(\.session) == ["s"], "seed \(seed)")
        #expect((world.value?.term ?? 0) > 3, "seed \(seed): too little happened")
    }

    @Test func aDeadHolderIsReplacedWithinTenSeconds() throws {
        for seed in Self.seeds {
            var world = LeaseWorld(seed: seed, machines: 2)
            world.calmAt = 0
            world.run(until: 60 * Self.second)
            let first = try #require(world.machines.firstIndex { $0.recorder != nil })
            world.machines[first].hangsUntil = .max
            world.machines[first].recorder = nil
            // By the other machine's clock.
            world.run(until: 60 * Self.second + Int64(10e9 / world.machines[1 - first].rate))
            #expect(world.machines[1 - first].recorder != nil, "seed \(seed)")
        }
    }

    // MARK: One by one

    private static let times = LeaseTimes(patience: 9 * second)

    /// A machine whose servers answer at once.
    private struct One {
        let core: Leadership
        var now: Int64 = 0
        var value: LeaseValue?
        var revision: UInt64?
        var seen: [String] = []
        /// The sessions for which the recorder was asked to plan a continuation.
        var asked: [String] = []
        var isUnreachable = false
        /// Whether the next write is stored but its answer lost.
        var losesNextAnswer = false
        /// Whether writes are stored but not answered yet.
        var delaysAnswers = false
        var delayed: [(number: Int, revision: UInt64)] = []
        /// The problems that health reports, by key.
        var problems: [String: String] = [:]
        var prepares = true
        /// The recorder's answer to a request to continue a session; nil for none.
        var answer: SessionContinuation.Outcome? = .running
        var unanswered: [SessionContinuation] = []

        init(localTerm: Int? = nil) {
            core = Leadership(LeadershipTests.times, holder: "a", instance: "a/1", localTerm: localTerm, at: 0)
        }

        mutating func advance(to time: Int64) {
            while core.nextTime <= time {
                now = max(now, core.nextTime)
                core.wake(at: now)
                carryOut()
            }
            now = time
        }

        mutating func carryOut() {
            var effects = core.takeEffects()
            while !effects.isEmpty {
                for effect in effects { carryOut(effect) }
                effects = core.takeEffects()
            }
        }

        private mutating func carryOut(_ effect: Leadership.Effect) {
            switch effect {
            case .read(let number):
                if isUnreachable {
                    now += LeadershipTests.times.answer
                    return core.answered(.unknown("away"), to: number, at: now)
                }
                let answer =
                    value.map { Leadership.Answer.value($0, revision: revision ?? 0) } ?? .absent(revision: nil)
                core.answered(answer, to: number, at: now)
            case .write(let new, let old, let number):
                let size = (try? WireCoding.encode(new).count) ?? .max
                if isUnreachable || size > Leadership.maximumSize {
                    now += LeadershipTests.times.answer
                    return core.answered(.unknown("away"), to: number, at: now)
                }
                guard old == revision else { return core.answered(.conflict, to: number, at: now) }
                value = new
                revision = (revision ?? 0) + 1
                if delaysAnswers { return delayed.append((number, revision ?? 0)) }
                if losesNextAnswer {
                    losesNextAnswer = false
                    now += LeadershipTests.times.answer
                    return core.answered(.unknown("lost"), to: number, at: now)
                }
                core.answered(.stored(revision: revision ?? 0), to: number, at: now)
            case .prepare(let term, let setsAside):
                seen.append(setsAside ? "set aside" : "prepare")
                if prepares { core.prepared(term, failure: nil, at: now) }
            case .start: seen.append("start")
            case .notice(.report(_, let sentence, for: let key, lasting: _)): problems[key] = sentence
            case .notice(.clear(let key)): problems[key] = nil
            case .extend, .notice: break
            case .plan(let session): asked.append(session)
            case .terminate: seen.append("terminate")
            case .kill: seen.append("kill")
            case .continue(let continuation):
                seen.append("continue \(continuation.plan.session)")
                guard let answer else { return unanswered.append(continuation) }
                core.continued(continuation, answer, at: now)
            }
        }

        /// Simulates a write by another machine.
        mutating func write(_ other: LeaseValue) {
            value = other
            revision = (revision ?? 0) + 1
        }
    }

    private static func other(
        term: Int, isReleased: Bool? = nil, sessions: [SessionPlan] = []
    ) -> LeaseValue {
        LeaseValue(
            holder: "b", instance: "b/1", term: term, previous: term - 1, renewal: 1, isReleased: isReleased,
            sessions: sessions)
    }

    @Test func theFirstOneWaitsAsLongAsAnyOther() {
        var one = One()
        one.advance(to: 8 * Self.second)
        #expect(one.seen == [])
        one.advance(to: 10 * Self.second)
        #expect(one.seen == ["prepare", "start"])
        #expect(one.value?.term == 1)
    }

    @Test func aLeaseThatIsGivenAwayIsTakenAtOnceWithItsSessions() {
        let plan = SessionPlan(start: RecordingStart(session: "walk", streams: ["*"]))
        var one = One()
        one.write(Self.other(term: 4, isReleased: true, sessions: [plan]))
        one.advance(to: Self.second)
        #expect(one.seen == ["set aside", "start", "continue walk"])
        #expect(one.value?.term == 5)
        #expect(one.value?.previous == 4)
        #expect(one.value?.sessions == [plan])
    }

    @Test func plansAreAskedForOnceTheRecorderIsHeard() throws {
        var plan = SessionPlan(start: RecordingStart(session: "walk", step: "out", streams: ["*"]))
        var one = One()
        one.advance(to: 10 * Self.second)
        one.core.checkPlans()
        one.core.note(plan, at: one.now)
        one.carryOut()
        #expect(one.asked == [])
        one.core.checkPlans()
        one.carryOut()
        #expect(one.asked == ["walk"])
        plan.start.step = "back"
        one.core.planned("walk", RecordingPlan.Reply(session: "walk", status: "recording", plan: plan), at: one.now)
        one.advance(to: 11 * Self.second)
        #expect(one.value?.sessions == [plan])
    }

    @Test func whatOnesOwnRecorderLeftIsNotSetAside() {
        var one = One(localTerm: 4)
        one.write(Self.other(term: 4))
        one.advance(to: 10 * Self.second)
        #expect(one.seen == ["prepare", "start"], "the last term was this data directory's")
        var later = One(localTerm: 3)
        later.write(Self.other(term: 4))
        later.advance(to: 10 * Self.second)
        #expect(later.seen == ["set aside", "start"], "another one recorded since")
    }

    @Test func aTermWhoseAnswerWasLostIsNoOthers() {
        var one = One(localTerm: 4)
        one.write(Self.other(term: 4))
        one.losesNextAnswer = true
        one.advance(to: 12 * Self.second)
        #expect(one.value?.term == 6, "it took term 5 without knowing")
        #expect(one.seen == ["prepare", "start"], "nobody recorded in term 5")
    }

    @Test func anEqualRevisionOfAnotherWriteIsWaitedFor() {
        var one = One()
        one.write(Self.other(term: 4))
        one.advance(to: 5 * Self.second)
        // The bucket was deleted, and another machine has written the first value of a new one.
        one.value?.renewal = 2
        one.advance(to: 13 * Self.second)
        #expect(one.seen == [])
        one.advance(to: 15 * Self.second)
        #expect(one.seen == ["set aside", "start"])
    }

    @Test func aHolderWritesALeaseAgainThatTheServersLost() {
        let plan = SessionPlan(start: RecordingStart(session: "walk", streams: ["*"]))
        var one = One()
        one.advance(to: 10 * Self.second)
        one.core.note(plan, at: one.now)
        one.advance(to: one.now)
        one.value = nil
        one.revision = nil
        one.advance(to: 30 * Self.second)
        #expect(one.seen == ["prepare", "start"])
        #expect(one.value?.term == 1)
        #expect(one.value?.sessions == [plan])
    }

    @Test func aHolderWithoutServersStopsThenKillsItsRecorder() {
        var one = One()
        one.advance(to: 10 * Self.second)
        one.isUnreachable = true
        one.advance(to: 16 * Self.second)
        #expect(one.seen == ["prepare", "start"])
        one.advance(to: 20 * Self.second)
        #expect(one.seen == ["prepare", "start", "terminate", "kill"])
        #expect(!one.core.isLeading)
        one.core.ended("killed", at: one.now)
        one.carryOut()
        one.isUnreachable = false
        one.advance(to: 21 * Self.second)
        #expect(one.seen.suffix(2) == ["prepare", "start"], "it was its own lease, and nothing runs under it")
    }

    @Test func aLateAnswerGivesNoLeaseBackWhileTheRecorderEnds() {
        var one = One()
        one.advance(to: 10 * Self.second)
        one.core.note(Self.walk, at: one.now)
        one.advance(to: one.now)
        one.isUnreachable = true
        one.advance(to: 15 * Self.second)
        one.isUnreachable = false
        one.delaysAnswers = true
        one.advance(to: 19 * Self.second)
        #expect(one.seen == ["prepare", "start", "terminate", "kill"])
        one.delaysAnswers = false
        #expect(one.delayed.count == 1)
        for (number, revision) in one.delayed {
            one.core.answered(.stored(revision: revision), to: number, at: one.now)
        }
        one.carryOut()
        one.advance(to: 20 * Self.second)
        #expect(one.seen.last == "kill", "the recorder may still live")
        one.core.ended("killed", at: one.now)
        one.carryOut()
        #expect(one.seen.suffix(3) == ["prepare", "start", "continue walk"])
        #expect(one.value?.term == 2)
    }

    @Test func aLeaseThatTheServersLostWithItsHolderIsTakenAsItWas() {
        var one = One()
        one.write(Self.other(term: 4, sessions: [Self.walk]))
        one.advance(to: 5 * Self.second)
        one.value = nil
        one.revision = nil
        one.advance(to: 15 * Self.second)
        #expect(one.value?.term == 5)
        #expect(one.value?.previous == 4)
        #expect(one.seen == ["set aside", "start", "continue walk"])
    }

    @Test func aTermThatADirectoryNamesIsNotUsedAgain() {
        var one = One(localTerm: 4)
        one.advance(to: 10 * Self.second)
        #expect(one.value?.term == 5)
        #expect(one.seen == ["prepare", "start"])
    }

    @Test func aHolderWhoseLeaseIsAnothersKillsItsRecorder() {
        var one = One()
        one.advance(to: 10 * Self.second)
        one.write(Self.other(term: 2))
        one.advance(to: 12 * Self.second)
        #expect(one.seen == ["prepare", "start", "kill"])
    }

    @Test func aRecorderThatEndsIsStartedAgainUntilItEndsTooOften() {
        var one = One()
        one.advance(to: 10 * Self.second)
        for _ in 0..<2 {
            one.core.ended("exited with 74", at: one.now)
            one.carryOut()
            one.advance(to: one.now + 2 * Self.second)
        }
        #expect(one.seen == ["prepare", "start", "start", "start"])
        one.core.ended("exited with 74", at: one.now)
        one.carryOut()
        #expect(one.value?.isReleased == true, "another machine may have more luck")
        one.advance(to: one.now + 30 * Self.second)
        #expect(one.seen.count == 4)
        one.advance(to: one.now + 31 * Self.second)
        #expect(one.seen.suffix(2) == ["prepare", "start"])
    }

    @Test func aProgramThatIsToldToStopStopsItsRecorderAndGivesTheLeaseAway() {
        var one = One()
        one.advance(to: 10 * Self.second)
        one.core.stop(at: one.now)
        one.carryOut()
        #expect(one.seen == ["prepare", "start", "terminate"])
        #expect(!one.core.isOver)
        one.advance(to: one.now + 5 * Self.second)
        #expect(one.value?.isReleased == nil, "it renews until the recorder has ended")
        one.core.ended("exited with 0", at: one.now)
        one.carryOut()
        #expect(one.value?.isReleased == true)
        #expect(one.core.isOver)
    }

    @Test func sessionsAreStoredAtOnce() {
        var one = One()
        one.advance(to: 10 * Self.second)
        one.core.note(SessionPlan(start: RecordingStart(session: "walk", streams: ["*"])), at: one.now)
        one.advance(to: one.now)
        #expect(one.value?.sessions.map(\.session) == ["walk"])
        one.core.noteEnd(of: "walk", at: one.now)
        one.advance(to: one.now)
        #expect(one.value?.sessions == [])
    }

    @Test func aPlanThatIsTooLargeStopsNoRenewal() {
        let date = WallTime(seconds: 1_700_000_000)
        let note = String(repeating: "n", count: 200)
        let start = RecordingStart(session: "walk", streams: ["*"])
        let small = SessionPlan(start: start)
        let large = SessionPlan(
            start: start,
            annotations: (1...5_000).map { Annotation(number: $0, label: "fall", from: date, note: note, date: date) })
        var one = One()
        one.advance(to: 10 * Self.second)
        one.core.note(small, at: one.now)
        one.core.note(large, at: one.now)
        one.advance(to: 30 * Self.second)
        #expect(one.seen == ["prepare", "start"])
        #expect(one.value?.sessions == [small], "the last one that fits")
        #expect(one.problems["session walk"]?.contains("without its last changes") == true)
        one.core.note(small, at: one.now)
        one.carryOut()
        #expect(one.problems == [:], "the lease has the plan")
        one.core.note(large, at: one.now)
        one.carryOut()
        #expect(one.problems.count == 1)
        one.core.noteEnd(of: "walk", at: one.now)
        one.advance(to: one.now)
        #expect(one.problems == [:])
    }

    private static let walk = SessionPlan(start: RecordingStart(session: "walk", streams: ["*"]))
    private static let from = WallTime(seconds: 1_700_000_000)
    /// The lease of a dead machine, with a session.
    private static let left = other(
        term: 4, isReleased: true,
        sessions: [SessionPlan(start: RecordingStart(session: "walk", streams: ["*"], from: from))])

    private static let discard = RecordingEvent(
        source: "recorder", sequence: 1, session: "walk", date: from, change: .discard, status: "finished", step: "")

    @Test func aRecorderThatStopsWhileItContinuesASessionLeavesItToOthers() {
        var one = One()
        one.answer = nil
        one.write(Self.left)
        one.advance(to: Self.second)
        one.core.stop(at: one.now)
        one.carryOut()
        for continuation in one.unanswered {
            one.core.continued(continuation, .refused("the recorder is stopping"), at: one.now)
        }
        one.carryOut()
        one.core.ended("exited with 0", at: one.now)
        one.carryOut()
        #expect(one.value?.isReleased == true)
        #expect(one.value?.sessions == Self.left.sessions)
    }

    @Test func aSessionThatARecorderHasNoRoomForStaysInTheLease() {
        var one = One()
        one.answer = .failed("the disk is full")
        one.write(Self.left)
        one.advance(to: Self.second)
        #expect(one.value?.sessions == Self.left.sessions)
        #expect(one.problems["session walk"] == "session walk can't be continued: the disk is full")
        // What it had begun has failed.
        let failure = RecordingEvent(
            source: "recorder", sequence: 2, session: "walk", date: Self.from, change: .report, status: "failed",
            step: "")
        one.core.take(failure, at: one.now)
        #expect(one.value?.sessions == Self.left.sessions)
        one.answer = .running
        one.core.ended("exited with 74", at: one.now)
        one.carryOut()
        one.advance(to: one.now + 2 * Self.second)
        #expect(one.seen.suffix(2) == ["start", "continue walk"])
        #expect(one.problems == [:])
    }

    @Test func aSessionIsNotContinuedBeforeItsStartByThisMachinesClock() throws {
        var one = One()
        one.answer = nil
        one.write(Self.left)
        one.advance(to: Self.second)
        let continuation = try #require(one.unanswered.first)
        let obstacle = try #require(continuation.obstacle(at: Self.from.adding(-3_600 * Self.second)))
        #expect(obstacle.contains("set this machine's clock"))
        #expect(continuation.obstacle(at: Self.from.adding(-2 * Self.second)) == nil, "clocks differ a little")
        #expect(continuation.obstacle(at: Self.from.adding(60 * Self.second)) == nil)
    }

    @Test func aRecorderIsAskedAgainWithoutARestart() {
        var one = One()
        one.answer = .failed("the disk is full")
        one.write(Self.left)
        one.advance(to: 9 * Self.second)
        one.answer = .running
        #expect(one.seen == ["set aside", "start", "continue walk"])
        one.advance(to: 11 * Self.second)
        #expect(one.seen == ["set aside", "start", "continue walk", "continue walk"])
        #expect(one.problems == [:])
        one.advance(to: 40 * Self.second)
        #expect(one.seen.count == 4)
    }

    @Test func aDiscardedSessionIsNotContinuedLater() {
        var one = One()
        one.answer = .failed("the disk is full")
        one.write(Self.left)
        one.advance(to: Self.second)
        one.core.take(Self.discard, at: one.now)
        one.advance(to: 30 * Self.second)
        #expect(one.value?.sessions == [])
        #expect(one.problems == [:])
        #expect(one.seen == ["set aside", "start", "continue walk"])
    }

    @Test func anOlderSessionOfTheSameNameEndsNone() {
        var one = One()
        one.answer = .over(startDates: [WallTime(seconds: 1_600_000_000), WallTime(seconds: 1_600_003_600)])
        one.write(Self.left)
        one.advance(to: Self.second)
        // A person discards the older session.
        one.core.take(Self.discard, at: one.now)
        one.core.checkPlans()
        one.advance(to: 5 * Self.second)
        #expect(one.asked == [])
        #expect(one.value?.sessions == Self.left.sessions)
        #expect(one.problems["session walk"]?.contains("older session of this name") == true)
    }

    /// The recorder's clock was set during the session, before or after the plan was made.
    @Test(arguments: [[0], [-3_600, 0], [0, 3_600]] as [[Int64]])
    func aSessionThatIsOverIsNotContinued(_ seconds: [Int64]) {
        var one = One()
        one.answer = .over(startDates: seconds.map { Self.from.adding($0 * 1_000_000_000) })
        one.write(Self.left)
        one.advance(to: 5 * Self.second)
        #expect(one.value?.sessions == [])
        #expect(one.problems == [:])
    }

    @Test func aSessionThatARecorderDidNotContinueIsContinuedByTheNext() {
        var one = One()
        one.answer = nil
        one.write(Self.left)
        one.advance(to: Self.second)
        one.core.ended("exited with 74", at: one.now)
        for continuation in one.unanswered { one.core.continued(continuation, .unanswered, at: one.now) }
        one.carryOut()
        #expect(one.seen == ["set aside", "start", "continue walk"])
        one.answer = .running
        one.advance(to: one.now + 2 * Self.second)
        #expect(one.seen == ["set aside", "start", "continue walk", "start", "continue walk"])
        one.core.ended("exited with 74", at: one.now)
        one.advance(to: one.now + 2 * Self.second)
        #expect(one.seen.last == "start", "the recorder continues by itself what it has")
    }

    @Test func sessionsAreContinuedOnceTheRecorderMayRun() {
        var one = One()
        one.prepares = false
        one.write(Self.left)
        one.advance(to: Self.second)
        one.isUnreachable = true
        one.advance(to: 8_300_000_000)
        one.core.prepared(5, failure: nil, at: one.now)
        one.carryOut()
        #expect(one.seen == ["set aside"], "the lease may be over before the recorder has begun")
        one.isUnreachable = false
        one.advance(to: one.now + Self.second)
        #expect(one.seen == ["set aside", "start", "continue walk"])
    }
}
