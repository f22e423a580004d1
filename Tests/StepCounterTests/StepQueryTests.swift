import Files
import Messages
import Recording
import ServiceKit
import StepCounterCore
import StepStorage
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1)))
struct StepQueryTests {
    private static let week = 7.0 * 86_400

    @Test func case55NoStepsAreZeroAndNoError() throws {
        try HistoryFixture.run { fixture in
            try fixture.store(ago: [10])
            for (device, from, to) in [("phone", 100.0, 11.0), ("phone", 9, 0), ("phone", -5, -10), ("never", 100, 0)] {
                let reply = try fixture.ask(device, from: from, to: to)
                #expect(reply.numberOfSteps == 0)
                #expect(reply.bins == nil)
            }
        }
    }

    @Test func case55WhatIsTooOldIsNotCounted() throws {
        try HistoryFixture.run { fixture in
            try fixture.store(ago: [Self.week + 3600, Self.week + 1, Self.week - 1, 100])
            let older = try fixture.ask(from: 3 * Self.week, to: Self.week)
            #expect(older.numberOfSteps == 0)
            let all = try fixture.ask(from: 3 * Self.week, to: 0)
            #expect(all.numberOfSteps == 2)
            #expect(all.firstAvailable == fixture.ago(Self.week))
            let bins = try fixture.ask(from: 2 * Self.week, to: 0, interval: Self.week)
            #expect(bins.bins?.map(\.numberOfSteps) == [0, 2])
        }
    }

    @Test func case55AReversedRangeIsRefused() throws {
        try HistoryFixture.run { fixture in
            let error = #expect(throws: RecordingError.self) { try fixture.ask(from: 1, to: 2) }
            #expect(error?.code == .invalidParameter)
            let empty = try fixture.ask(from: 1, to: 1, interval: 60)
            #expect(empty.numberOfSteps == 0)
            #expect(empty.bins == [])
        }
    }

    @Test func case56StepsCountWithoutAnyUpdates() throws {
        try HistoryFixture.run { fixture in
            try fixture.store(ago: [30, 29.5, 29])
            #expect(try fixture.history.subscriptions().isEmpty)
            let reply = try fixture.ask(from: 60, to: 0)
            #expect(reply.numberOfSteps == 3)
        }
    }

    @Test func aQueryReportsWhatWasNotCounted() throws {
        try HistoryFixture.run { fixture in
            var commit = StepCommit(steps: ["phone": [fixture.ago(95)]])
            commit.spans["phone"] = [
                CountedSpan(number: 1, start: fixture.ago(100), end: fixture.ago(80)),
                CountedSpan(
                    number: 2, start: fixture.ago(70), end: fixture.ago(20), lost: 250, reason: .notRetained),
            ]
            try fixture.history.commit(commit, at: fixture.now)
            let reply = try fixture.ask(from: 110, to: 10, interval: 50)
            #expect(reply.isKnown == true && reply.numberOfSteps == 1)
            #expect(reply.coverage.map { ($0 * 1_000).rounded() } == 700)
            #expect(reply.bins?.map { $0.coverage.map { ($0 * 1_000).rounded() } } == [600, 800])
            #expect(
                reply.gaps == [
                    UncountedTime(from: fixture.ago(110), to: fixture.ago(100), reason: .unknown),
                    UncountedTime(
                        from: fixture.ago(80), to: fixture.ago(70),
                        reason: UncountedTime.Reason(rawValue: "notRetained"),
                        samples: 250),
                    UncountedTime(from: fixture.ago(20), to: fixture.ago(10), reason: .notArrived),
                ])
            // For a range within a gap, the facts come from spans outside the range.
            #expect(try fixture.ask(from: 78, to: 72).gaps?.map(\.samples) == [250])
            #expect(try fixture.ask(from: 60, to: 30).gaps == [])
            let old = try fixture.ask(from: 9 * 86_400, to: 8 * 86_400)
            #expect(old.coverage == 0 && old.gaps?.map(\.reason) == [.notKept])
            let nobody = try fixture.ask("nobody", from: 100, to: 0)
            #expect(nobody.isKnown == false && nobody.coverage == 0 && nobody.gaps?.map(\.reason) == [.unknown])
            #expect(try fixture.ask(from: 50, to: 50).coverage == nil)
        }
    }

    @Test func aLongListOfGapsIsCut() throws {
        try HistoryFixture.run { fixture in
            var commit = StepCommit()
            commit.spans["phone"] = (0..<1_500).map { number in
                let start = 3_000 - 2 * Double(number)
                return CountedSpan(number: number + 1, start: fixture.ago(start), end: fixture.ago(start - 1))
            }
            try fixture.history.commit(commit, at: fixture.now)
            let reply = try fixture.ask(from: 3_000, to: 0)
            #expect(reply.gaps?.count == StepsQuery.maximumGaps && reply.gapsOmitted == 500)
            #expect(reply.coverage.map { ($0 * 1_000).rounded() } == 500)
        }
    }

    /// As an earlier step counter left the steps.
    @Test func aHistoryWithoutSpansIsReadAndContinued() throws {
        try HistoryFixture.run { fixture in
            try fixture.store(ago: [50])
            #expect(
                try fixture.history.spans().isEmpty && fixture.ask(from: 60, to: 40).gaps?.map(\.reason) == [.unknown])
            var commit = StepCommit()
            commit.spans["phone"] = [CountedSpan(number: 1, start: fixture.ago(30), end: fixture.ago(20))]
            try fixture.history.commit(commit, at: fixture.now)
            #expect(try fixture.ask(from: 25, to: 21).coverage == 1)
            // A device is forgotten with its last span.
            _ = try fixture.remove(before: 25)
            #expect(try fixture.ask(from: 60, to: 0).isKnown == true && fixture.history.dates(of: "phone").isEmpty)
            _ = try fixture.remove(before: 10)
            #expect(try fixture.ask(from: 60, to: 0).isKnown == false)
        }
    }

    @Test func aRangeHasItsBeginningAndNotItsEnd() throws {
        try HistoryFixture.run { fixture in
            try fixture.store(ago: [20, 10])
            for (from, to, number) in [(20.0, 10.0, 1), (20, 0, 2), (10, 0, 1), (21, 20, 0)] {
                let reply = try fixture.ask(from: from, to: to)
                #expect(reply.numberOfSteps == number, "from \(from) to \(to)")
            }
        }
    }

    @Test func devicesHaveTheirOwnSteps() throws {
        try HistoryFixture.run { fixture in
            try fixture.store("phone", ago: [3, 2])
            try fixture.store("watch", ago: [3])
            let phone = try fixture.ask("phone", from: 10, to: 0)
            let watch = try fixture.ask("watch", from: 10, to: 0)
            #expect(phone.numberOfSteps == 2)
            #expect(watch.numberOfSteps == 1)
        }
    }

    @Test func stepsFoundLaterMayBeOlder() throws {
        try HistoryFixture.run { fixture in
            try fixture.store(ago: [5])
            try fixture.store(ago: [8, 7, 6, 5])
            let reply = try fixture.ask(from: 10, to: 0)
            // Two steps of the same date count as two.
            #expect(reply.numberOfSteps == 5)
        }
    }

    // MARK: Bins

    @Test func binsFollowEachOtherAndTheLastIsCut() throws {
        try HistoryFixture.run { fixture in
            try fixture.store(ago: [100, 99.5, 70, 40, 10, 5])
            let reply = try fixture.ask(from: 100, to: 5, interval: 30)
            #expect(reply.numberOfSteps == 5)
            let bins = try #require(reply.bins)
            #expect(bins.map(\.numberOfSteps) == [2, 1, 1, 1])
            #expect(bins.map(\.from) == [100, 70, 40, 10].map { fixture.ago($0) })
            #expect(bins.map(\.to) == [70, 40, 10, 5].map { fixture.ago($0) })
        }
    }

    @Test func binsAndTheWholeAgree() throws {
        try HistoryFixture.run { fixture in
            var random = SplitMix(seed: 5)
            try fixture.store(ago: (0..<2000).map { _ in Double.random(in: 0...1000, using: &random) })
            for interval in [0.3, 1, 7.7, 60, 999.9, 1000, 5000, 1e12] {
                let whole = try fixture.ask(from: 900.5, to: 33.25)
                let reply = try fixture.ask(from: 900.5, to: 33.25, interval: interval)
                #expect(reply.numberOfSteps == whole.numberOfSteps)
                #expect(reply.bins?.reduce(0) { $0 + $1.numberOfSteps } == whole.numberOfSteps)
                #expect(reply.bins?.count == Int((867.25 / interval).rounded(.up)))
            }
        }
    }

    @Test(arguments: [0, -1, .nan, .infinity, -.infinity, 1e-10])
    func anIntervalMustBeOne(interval: Double) throws {
        try HistoryFixture.run { fixture in
            let error = #expect(throws: RecordingError.self) {
                try fixture.ask(from: 10, to: 0, interval: interval)
            }
            #expect(error?.code == .invalidParameter)
        }
    }

    @Test func aWeekHasMinutesAndNotSeconds() throws {
        try HistoryFixture.run { fixture in
            try fixture.store(ago: [90])
            let reply = try fixture.ask(from: Self.week, to: 0, interval: 60)
            #expect(reply.bins?.count == 10_080)
            #expect(reply.numberOfSteps == 1)
            let error = #expect(throws: RecordingError.self) {
                try fixture.ask(from: Self.week, to: 0, interval: 1)
            }
            #expect(error?.code == .invalidParameter)
            #expect(error?.description.contains("20000") == true)
        }
    }

    @Test func allOfTimeCanBeAskedFor() throws {
        try HistoryFixture.run { fixture in
            try fixture.store(ago: [90])
            let ends = [Int64.min, .max].map { WallTime(nanosecondsSince1970: $0) }
            for interval in [nil, 1e9, 1e15] as [Double?] {
                let query = StepsQuery(device: "phone", from: ends[0], to: ends[1], interval: interval)
                let reply = try fixture.ask(query)
                #expect(reply.numberOfSteps == 1)
                #expect(reply.bins?.last.map { $0.to == ends[1] } ?? true)
            }
        }
    }

    @Test func aQueryTellsHowItWasWalked() throws {
        try HistoryFixture.run { fixture in
            // Twenty steps of 0.5 s, a rest, eleven of 0.6 s.
            let quick: [Double] = (0..<20).map { 90 - 0.5 * Double($0) }
            let slow: [Double] = (0..<11).map { 60 - 0.6 * Double($0) }
            try fixture.store(ago: quick + slow)
            var query = StepsQuery(
                device: "phone", from: fixture.ago(100), to: fixture.ago(0), interval: 30, gait: true)
            let reply = try fixture.ask(query)
            let gait = try #require(reply.gait)
            #expect(gait.steps == 31)
            #expect(abs(gait.walkingTime - 15.5) < 1e-6)
            #expect(gait.bouts?.map(\.bouts) == [2, 0, 0, 0, 0])
            let bins = try #require(reply.bins)
            #expect(bins.map { $0.gait?.steps ?? 0 } == bins.map(\.numberOfSteps))
            #expect(bins.map { $0.gait == nil } == bins.map { $0.numberOfSteps == 0 })
            let stepTimes = bins.compactMap { $0.gait?.stepTime }
            #expect(zip(stepTimes, [0.5, 0.6]).allSatisfy { abs($0 - $1) < 1e-6 } && stepTimes.count == 2)
            query.gait = nil
            let plain = try fixture.ask(query)
            #expect(plain.gait == nil && plain.bins?.allSatisfy { $0.gait == nil } == true)
        }
    }

    @Test func aQueryListsBoutsWithTheirConfidence() throws {
        try HistoryFixture.run { fixture in
            var commit = StepCommit()
            // Twenty steps whose confidence rises to 0.9, a rest, then eleven with a confidence of a half.
            commit.steps["phone"] =
                (0..<20).map {
                    CountedStep(date: fixture.ago(90 - 0.5 * Double($0)), expected: $0 < 10 ? 0.6 : 1.2)
                } + (0..<11).map { CountedStep(date: fixture.ago(60 - 0.6 * Double($0)), expected: 0.5) }
            try fixture.history.commit(commit, at: fixture.now)
            var query = StepsQuery(
                device: "phone", from: fixture.ago(100), to: fixture.ago(0), interval: 30, bouts: true)
            let reply = try fixture.ask(query)
            let bouts = try #require(reply.bouts)
            #expect(bouts.map(\.numberOfSteps) == [20, 11])
            #expect(zip(bouts, [0.9, 0.5]).allSatisfy { abs(($0.confidence ?? 0) - $1) < 1e-9 })
            #expect(bouts.map(\.from) == [fixture.ago(90), fixture.ago(60)])
            #expect(bouts.map(\.to) == [fixture.ago(80.5), fixture.ago(54)])
            #expect(zip(bouts, [0.5, 0.6]).allSatisfy { abs(($0.gait.stepTime ?? 0) - $1) < 1e-6 })
            #expect(reply.gait == nil)
            // 20 × 0.1, and 11 × 0.5.
            let error = try #require(reply.expectedError)
            #expect(abs(error.falseSteps - 7.5) < 1e-9 && error.missedSteps > 0)
            let bins = try #require(reply.bins)
            #expect(bins.map { $0.expectedError == nil } == bins.map { $0.numberOfSteps == 0 })
            #expect(abs(bins.compactMap { $0.expectedError?.falseSteps }.reduce(0, +) - 7.5) < 1e-9)
            query.device = "watch"
            let other = try fixture.ask(query)
            #expect(other.bouts == [] && other.expectedError == nil)
        }
    }

    @Test func stepsOfWhichNothingIsKnownHaveNoExpectedError() throws {
        try HistoryFixture.run { fixture in
            var commit = StepCommit()
            commit.steps["phone"] = [CountedStep(date: fixture.ago(50), expected: 0.9)]
            try fixture.history.commit(commit, at: fixture.now)
            try fixture.store(ago: [70])
            #expect(try fixture.ask(from: 100, to: 0).expectedError == nil)
            #expect(try fixture.ask(from: 60, to: 0).expectedError?.falseSteps == 1 - 0.9)
        }
    }

    @Test func moreBoutsThanAnAnswerListsAreRefused() throws {
        try HistoryFixture.run { fixture in
            try fixture.store(ago: (0...StepsQuery.maximumBouts).map { 3 + 3 * Double($0) })
            let query = StepsQuery(device: "phone", from: fixture.ago(40_000), to: fixture.now, bouts: true)
            let error = #expect(throws: RecordingError.self) { try fixture.ask(query) }
            #expect(error?.code == .invalidParameter)
        }
    }

    // MARK: The beginning of the history

    @Test func theHistoryGoesBackToItsBeginningOrItsFirstStep() throws {
        try HistoryFixture.run(keep: .seconds(365 * 86_400)) { fixture in
            let empty = try fixture.ask("watch", from: 10, to: 0)
            #expect(empty.firstAvailable > fixture.ago(31 * 86_400))
            #expect(empty.firstAvailable < fixture.ago(29 * 86_400))
            // Steps from samples that a publisher had kept.
            try fixture.store(ago: [40 * 86_400])
            let earlier = try fixture.ask(from: 10, to: 0)
            #expect(earlier.firstAvailable == fixture.ago(40 * 86_400))
            let other = try fixture.ask("watch", from: 10, to: 0)
            #expect(other.firstAvailable == empty.firstAvailable)
        }
    }

    @Test func whatIsForgottenIsGone() throws {
        try HistoryFixture.run { fixture in
            try fixture.store(ago: [300, 200, 200, 100])
            try fixture.store("watch", ago: [500])
            let position = StreamPosition(epoch: "e", next: 1)
            let old = StreamName(device: "watch", stream: "accelerometer")
            let new = StreamName(device: "phone", stream: "accelerometer")
            try fixture.history.commit(StepCommit(positions: [old: position]), at: fixture.ago(500))
            try fixture.history.commit(StepCommit(positions: [new: position]), at: fixture.ago(100))
            #expect(try fixture.remove(before: 200) == 2)
            #expect(try fixture.history.dates(of: "phone") == [200, 200, 100].map { fixture.ago($0) })
            #expect(Array(try fixture.history.positions().keys) == [new])
            // A forgotten device returns.
            try fixture.store("watch", ago: [50])
            let reply = try fixture.ask("watch", from: 1000, to: 0)
            #expect(reply.numberOfSteps == 1)
            #expect(try StepHistory(in: fixture.data, at: .now).dates(of: "watch") == [fixture.ago(50)])
        }
    }

    @Test func muchIsForgottenToo() throws {
        try HistoryFixture.run { fixture in
            for device in 0..<5 {
                try fixture.store("phone\(device)", ago: (0..<6_000).map { 1000 + Double($0) })
            }
            #expect(try fixture.remove(before: 1_100) == 5 * 5_899)
            let reply = try fixture.ask("phone3", from: 1e5, to: 0)
            #expect(reply.numberOfSteps == 101)
        }
    }
}
