import Messages
import Recording
import TestSupport
import Testing
import Triggers

/// A watch in virtual time: a session covers each fall, from `before` until `after` it, even if messages are lost or late.
@Suite struct TriggerWatchTests {
    private static let second = WatchWorld.second
    private static let expression = "left-wrist/accelerometer |a| > 3g"

    /// A number of falls at random times.
    private static func falls(_ count: Int, seed: UInt64, within seconds: Int64) -> [Int64] {
        var random = SplitMix(seed: seed)
        let places = (0..<count).map { _ in Int64.random(in: 5..<(seconds * 20), using: &random) }
        // Two falls within 50 ms are one sample.
        return Set(places).sorted().map { $0 * second / 20 }
    }

    /// Each fall must be in the middle of a session, and each session must contain a fall.
    private static func judge(_ world: WatchWorld, _ falls: [Int64], before: Int64, after: Int64, slack: Int64) {
        let sessions = world.sessions
        for fall in falls {
            // The sample's own time, which is up to 10 ms later.
            let isCovered = sessions.contains { session in
                session.from <= fall + second / 100 - before && (session.end ?? .max) >= fall + after
            }
            #expect(isCovered, "the fall at \(Double(fall) / 1e9) s")
        }
        for session in sessions {
            #expect(session.end != nil)
            let own = falls.filter { $0 >= session.from && $0 <= session.end ?? .max }
            #expect(!own.isEmpty, "\(session)")
            let last = own.last ?? 0
            #expect((session.end ?? 0) <= last + after + slack, "\(session)")
        }
        #expect(!world.isLossTold)
        #expect(world.isIdle)
    }

    @Test(arguments: zip([(1, 1), (10, 20)], [10, 0]))
    func aThousandTriggersInAnHourAreAllInSessions(times: (before: Int64, after: Int64), lossPercent: Int) throws {
        let falls = Self.falls(1_000, seed: 5, within: 3_580)
        let (before, after) = (times.before * Self.second / 2, times.after * Self.second / 2)
        let world = try WatchWorld(
            [Self.expression], before: before, after: after, falls: falls, lossPercent: lossPercent)
        world.run(until: 3_600 * Self.second)
        world.stop()
        Self.judge(world, falls, before: before, after: after, slack: 4 * Self.second)
        let triggers = world.lines.filter { $0.contains("accelerometer is ") }
        #expect(triggers.count == falls.count)
        if times.after == 1 { #expect(world.sessions.count > 700) } else { #expect(world.sessions.count < 300) }
    }

    /// The recorder's own core, write-ahead log and files record the sessions; the watch and the recorder both miss some
    /// messages.
    @Test(arguments: [(1, 1), (10, 20)])
    func aTriggerEveryFewSecondsMakesWholeSessions(times: (before: Int64, after: Int64)) throws {
        try withTemporaryDirectory { data in
            let falls = Self.falls(300, seed: 7, within: 1_060)
            let (before, after) = (times.before * Self.second / 2, times.after * Self.second / 2)
            let recorder = try WatchedRecorder(in: data)
            let world = try WatchWorld(
                [Self.expression], before: before, after: after, falls: falls, lossPercent: 5, recorder: recorder)
            world.run(until: 1_080 * Self.second)
            world.stop()
            Self.judge(world, falls, before: before, after: after, slack: 4 * Self.second)
            #expect(world.lines.count { $0.contains("accelerometer is ") } == falls.count)
            if times.after == 1 { #expect(world.sessions.count > 210) }
            for session in world.sessions {
                let report = try #require(recorder.reports[session.name])
                #expect(report.status == "finished")
                #expect(report.failures == [])
                let verification = try recorder.directory(of: session.name).verify()
                #expect(verification.verdict == .whole, "\(session.name): \(verification.findings)")
                let last = falls.last { $0 + after <= session.end ?? .max } ?? 0
                // Samples that the publisher had not put into a batch by then are absent.
                let least = (last + after - max(0, session.from)) * WatchWorld.rate / Self.second - 10
                #expect(verification.samples >= least, "\(session.name)")
            }
        }
    }

    @Test(arguments: 0..<10)
    func aRecorderThatAnswersLateHasEachFall(seed: UInt64) throws {
        let falls = Self.falls(60, seed: seed, within: 590)
        let world = try WatchWorld(
            [Self.expression], before: 2 * Self.second, after: Self.second, falls: falls, lossPercent: 20,
            longestAnswer: 20 * Self.second, seed: seed)
        world.run(until: 600 * Self.second)
        world.stop()
        Self.judge(world, falls, before: 2 * Self.second, after: Self.second, slack: 70 * Self.second)
    }

    @Test func aSessionThatSomebodyEndsIsFollowedByOneWithTheNextFall() throws {
        let falls = [10, 15, 40].map { $0 * Self.second }
        let world = try WatchWorld(
            [Self.expression], before: 4 * Self.second, after: 8 * Self.second, falls: falls)
        world.run(until: 12 * Self.second)
        world.endSessions()
        world.run(until: 70 * Self.second)
        #expect(world.sessions.count == 3)
        #expect(world.sessions[1].from == 11 * Self.second)
        #expect(world.sessions[1].end.map { $0 >= 23 * Self.second } ?? false)
    }

    @Test func aRingKeepsTheTimeAroundEachFall() throws {
        let falls = Self.falls(200, seed: 3, within: 890)
        let world = try WatchWorld(
            [Self.expression], before: 2 * Self.second, after: 3 * Self.second, falls: falls, lossPercent: 10,
            ring: "always")
        world.run(until: 900 * Self.second)
        #expect(world.sessions.isEmpty)
        for fall in falls {
            let isKept = world.kept.contains { kept in
                kept.from <= fall + Self.second / 100 - 2 * Self.second && kept.to >= fall + 3 * Self.second
            }
            #expect(isKept, "the fall at \(Double(fall) / 1e9) s")
        }
        #expect(world.kept.count == falls.count)
        #expect(world.isIdle)
        #expect(world.lines.last?.hasSuffix(": session always keeps its time") == true)
    }

    @Test(arguments: [nil, "always"])
    func whatTheRecorderDidNotConfirmBeforeTheEndIsLost(ring: String?) throws {
        let world = try WatchWorld(
            [Self.expression], before: Self.second, after: Self.second, falls: [10 * Self.second],
            longestAnswer: 1_000_000 * Self.second, ring: ring)
        world.run(until: 11 * Self.second)
        #expect(!world.isIdle)
        world.giveUp()
        #expect(world.isLossTold)
        let line = try #require(world.lines.last)
        #expect(line.hasPrefix(ring == nil ? "session fall-" : "session always may not keep 1 time:"), "\(line)")
    }

    @Test func aWatchThatEndsWithNothingOpenLosesNothing() throws {
        let world = try WatchWorld(
            [Self.expression], before: Self.second, after: Self.second, falls: [10 * Self.second])
        world.run(until: 20 * Self.second)
        let lines = world.lines
        world.giveUp()
        #expect(!world.isLossTold)
        #expect(world.lines == lines)
    }

    /// All samples are lost in transit, and a replay returns seconds of them.
    @Test(arguments: [
        ["left-wrist/accelerometer |a| < 1g"],
        ["left-wrist/accelerometer |a| < 1g", "left-wrist/ silent 1s"],
    ])
    func aRingKeepsAllOfALongConditionThatIsFoundInReplayedSamples(expressions: [String]) throws {
        let world = try WatchWorld(
            expressions, before: Self.second / 5, after: Self.second / 5, falls: [], lossPercent: 100, ring: "always")
        world.run(until: 20 * Self.second)
        world.step(to: 30 * Self.second)
        var end = Self.second / 100
        for kept in world.kept.sorted(by: { $0.from < $1.from }) {
            #expect(kept.from <= end, "the time from \(Double(end) / 1e9) s on is not kept")
            end = max(end, kept.to)
        }
        #expect(end >= 20 * Self.second)
        // Times are kept in advance, so few requests suffice.
        #expect(world.kept.count < 10)
        #expect(!world.isLossTold)
        #expect(world.isIdle)
    }

    @Test func aFallIsToldWithItsValueAndItsDelay() throws {
        let world = try WatchWorld(
            [Self.expression], before: Self.second, after: Self.second, falls: [10 * Self.second])
        world.run(until: 20 * Self.second)
        #expect(world.lines.first == "watching left-wrist/accelerometer")
        let line = try #require(world.lines.first { $0.contains("begins") })
        #expect(
            line.contains(" left-wrist/accelerometer is 50.0: \(Self.expression), found 0 ms after it was published"))
        #expect(world.lines.last?.contains("is over: 0 samples of 0 streams, whole, in /data/recordings/fall-") == true)
    }

    @Test func aSilenceIsATriggerOnce() throws {
        let world = try WatchWorld(
            ["left-wrist/ silent 5s"], before: 10 * Self.second, after: 2 * Self.second, falls: [])
        world.run(until: 10 * Self.second)
        world.step(to: 30 * Self.second)
        #expect(world.sessions.map(\.from) == [5 * Self.second])
        world.run(until: 40 * Self.second)
        world.step(to: 50 * Self.second)
        #expect(world.sessions.map(\.from) == [5, 35].map { $0 * Self.second })
    }

    @Test func aRateThatFallsIsATrigger() throws {
        let world = try WatchWorld(
            ["left-wrist/accelerometer rate < 80Hz"], before: Self.second, after: 2 * Self.second, falls: [])
        world.run(until: 10 * Self.second)
        #expect(world.sessions.isEmpty, "\(world.lines)")
        world.step(to: 14 * Self.second)
        world.describe()
        world.step(to: 18 * Self.second)
        #expect(world.sessions.count == 1)
    }

    /// A dead publisher sends no descriptions either.
    @Test(arguments: [("", [11, 21]), (" for 5s", [14, 24])] as [(String, [Int64])])
    func theRateOfADeadPublisherIsATrigger(lasting: String, starts: [Int64]) throws {
        let world = try WatchWorld(
            ["left-wrist/accelerometer rate < 80Hz\(lasting)"], before: Self.second, after: 2 * Self.second, falls: [])
        world.run(until: 10 * Self.second)
        #expect(world.sessions.isEmpty, "\(world.lines)")
        world.step(to: 18 * Self.second)
        #expect(world.sessions.count == 1)
        // Further samples rearm it.
        world.run(until: 20 * Self.second)
        world.step(to: 30 * Self.second)
        #expect(world.sessions.map(\.from) == starts.map { $0 * Self.second })
    }

    @Test func aConditionMayHaveToLast() throws {
        // The wearer is at rest between falls, and a fall of a single sample is too short.
        let falls = [10, 11, 12].map { $0 * Self.second }
        let long = try WatchWorld(
            ["\(Self.expression) for 50ms"], before: Self.second, after: Self.second, falls: falls)
        long.run(until: 20 * Self.second)
        #expect(long.sessions.isEmpty)
        let rest = try WatchWorld(
            ["left-wrist/accelerometer |a| < 1g for 2s"], before: Self.second, after: Self.second, falls: falls)
        rest.run(until: 20 * Self.second)
        // 9.49 m/s² is less than 1 g.
        #expect(rest.sessions.map { $0.from / Self.second } == [1, 13], "\(rest.sessions)")
    }

    @Test func whatCanNotBeWatchedIsSaid() throws {
        let world = try WatchWorld(
            ["left-wrist/accelerometer pressure > 3"], before: Self.second, after: Self.second, falls: [])
        world.describe()
        #expect(
            world.lines == [
                "left-wrist/accelerometer is not watched: it has no field pressure, only uptime, x, y, z"
            ])
        let unit = try WatchWorld(
            ["left-wrist/accelerometer x > 3hPa"], before: Self.second, after: Self.second, falls: [])
        #expect(unit.lines == ["left-wrist/accelerometer is not watched: its unit is m/s2, and the limit is in hPa"])
    }

    /// The watch begins with a publisher without a unit. The second run has one, and the third forgets it again.
    @Test func eachRunOfAPublisherIsJudgedByItsOwnUnit() throws {
        let world = try WatchWorld(
            ["left-wrist/ |a| > 3g", "left-wrist/ silent 5s", "left-wrist/accelerometer rate < 80"],
            before: Self.second, after: Self.second, falls: [5, 15, 25].map { $0 * Self.second }, unit: nil)
        let watching = "watching left-wrist/accelerometer"
        let leftOut =
            "left-wrist/accelerometer is not watched for left-wrist/ |a| > 3g: it has no unit, and the limit is in g: "
            + "start its publisher with --unit, or leave the unit out"
        world.run(until: 10 * Self.second)
        #expect(world.lines == [watching, leftOut])
        world.restart(unit: "m/s2")
        #expect(world.lines == [watching, leftOut, watching])
        world.run(until: 20 * Self.second)
        #expect(world.sessions.count == 1, "\(world.lines)")
        world.restart(unit: nil)
        #expect(world.lines.suffix(2) == [watching, leftOut])
        // Its samples still arrive, so it is neither silent nor slow.
        world.run(until: 40 * Self.second)
        #expect(world.sessions.count == 1, "\(world.lines)")
        world.step(to: 50 * Self.second)
        #expect(world.sessions.count == 3, "\(world.lines)")
    }

    /// At the start, an expression that names a stream must apply to it; later, only the others remain in effect.
    @Test func anExpressionThatNoLongerAppliesToItsStreamIsReported() throws {
        let world = try WatchWorld(
            [Self.expression], before: Self.second, after: Self.second, falls: [5, 15].map { $0 * Self.second })
        world.restart(unit: nil)
        let line = try #require(world.lines.last)
        #expect(line.hasPrefix("left-wrist/accelerometer is not watched for \(Self.expression): it has no unit"))
        world.run(until: 10 * Self.second)
        #expect(world.lines.last == line)
        world.restart(unit: "m/s2")
        #expect(world.lines.last == "watching left-wrist/accelerometer")
        world.run(until: 20 * Self.second)
        #expect(world.sessions.count == 1, "\(world.lines)")
    }
}
