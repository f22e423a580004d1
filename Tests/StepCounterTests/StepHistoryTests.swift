import Files
import FoundationEssentials
import GRDB
import Messages
import Recording
import StepStorage
import Storage
import SystemPackage
import TestSupport
import Testing

@testable import StepCounterCore

@Suite(.timeLimit(.minutes(1)))
struct StepHistoryTests {
    private static let phone = StreamName(device: "phone", stream: "accelerometer")
    private static let date = WallTime(seconds: 1_795_219_200)

    // MARK: Continuation

    @Test func subscriptionsGoOn() throws {
        try withTemporaryDirectory { data in
            var subscriptions = StepSubscriptions()
            var commit = StepCommit()
            for (id, device) in [("a", "phone"), ("b", "watch"), ("c", "phone")] {
                commit.note(
                    try subscriptions.start(
                        StepsStartUpdates(device: device, updateOn: 10), id: id, startDate: Self.date, instant: 5,
                        clock: Self.date
                    ).subscription)
            }
            try StepHistory(in: data, at: .now).commit(commit, at: .now)

            var next = StepCommit()
            let counted = subscriptions.count([6, 7, 8], of: "phone", at: WallTime(seconds: Self.date.seconds + 9))
            for subscription in counted.changed { next.note(subscription) }
            next.stopped = ["c"]
            try StepHistory(in: data, at: .now).commit(next, at: .now)

            let stored = try StepHistory(in: data, at: .now).subscriptions()
            #expect(stored.map(\.id) == ["a", "b"])
            #expect(stored.map(\.numberOfSteps) == [3, 0])
            #expect(stored.map(\.device) == ["phone", "watch"])
            #expect(stored.allSatisfy { $0.updateOn == 10 && $0.startDate == Self.date })
            #expect(stored.map(\.lastDate.seconds) == [Self.date.seconds + 9, Self.date.seconds])
            var restored = StepSubscriptions(stored)
            let told = restored.count([1, 2, 3, 4, 5, 6, 7], of: "phone", at: Self.date).notified
            #expect(told.map(\.numberOfSteps) == [10])
        }
    }

    /// The clock was a month ahead, so commits are of the future. It is stored as it is once it is trusted again.
    @Test func aClockThatGoesBackIsNotPutAheadByEarlierCommits() throws {
        try HistoryFixture.run { fixture in
            let month = Int64(30 * 86_400 * 1e9)
            var commit = StepCommit()
            commit.positions[Self.phone] = StreamPosition(epoch: "e", next: 100)
            try fixture.history.commit(commit, at: fixture.now.adding(month))
            func store(_ clock: HistoryClock.State) throws {
                let oldest = fixture.ago(10_000)
                try fixture.history.remove(StepCounting.Removal(steps: oldest, positions: oldest, clock: clock))
            }
            try store(HistoryClock.State(date: fixture.now, ahead: -5, stood: 1))
            #expect(try fixture.history.clock()?.date == fixture.now.adding(month))
            try store(HistoryClock.State(date: fixture.now))
            #expect(try fixture.history.clock() == HistoryClock.State(date: fixture.now))
            #expect(try fixture.history.positions()[Self.phone]?.next == 100)
        }
    }

    // MARK: Kills and full disks

    /// A kill in the middle of a transaction, some of whose pages are already in the log, leaves everything that was committed,
    /// and nothing of the transaction.
    @Test func aKillLosesNothingThatWasCommitted() throws {
        try withTemporaryDirectory { data in
            let history = try StepHistory(in: data, at: .now)
            for second in 0..<20 {
                var commit = StepCommit(steps: ["phone": [WallTime(seconds: Self.date.seconds + Double(second))]])
                commit.positions[Self.phone] = StreamPosition(epoch: "e", next: 50 * (second + 1))
                try history.commit(commit, at: .now)
            }
            let remains = data.appending("remains")
            try Directory(remains.appending("steps")).create()
            try history.database.write { database in
                try database.execute(sql: "PRAGMA cache_size = 2")
                for number in 0..<20_000 {
                    try database.execute(
                        sql: "INSERT INTO step (device, date, steps) VALUES (1, ?, 1)", arguments: [number])
                }
                for name in try FileManager.default.contentsOfDirectory(atPath: data.appending("steps").string)
                where !name.hasSuffix("-shm") {
                    try FileManager.default.copyItem(
                        atPath: data.appending("steps").appending(name).string,
                        toPath: remains.appending("steps").appending(name).string)
                }
            }
            let wal = remains.appending("steps/steps.sqlite-wal")
            #expect(try wal.stat().size > 100_000, "the transaction should be in the log")
            let found = try StepHistory(in: remains, at: .now)
            #expect(try found.dates(of: "phone").map(\.seconds) == (0..<20).map { Self.date.seconds + Double($0) })
            #expect(try found.positions()[Self.phone]?.next == 1000)
        }
    }

    @Test func eachCommitIsSynced() throws {
        try withTemporaryDirectory { data in
            let history = try StepHistory(in: data, at: .now)
            let pragmas = try history.database.read { database in
                try ["journal_mode", "synchronous"].map {
                    try Row.fetchOne(database, sql: "PRAGMA \($0)").map { "\($0[0] as DatabaseValue)" }
                }
            }
            #expect(pragmas == ["\"wal\"", "2"])
        }
    }

    @Test func aFullDiskLeavesAllOrNothing() throws {
        try withTemporaryDirectory { data in
            let history = try StepHistory(in: data, at: .now)
            try history.commit(StepCommit(steps: ["phone": [Self.date]]), at: .now)
            // Simulates a full disk: the database may not grow.
            try history.database.write { database in
                let pages = try Int.fetchOne(database, sql: "PRAGMA page_count") ?? 0
                try database.execute(sql: "PRAGMA max_page_count = \(pages)")
            }
            var commit = StepCommit(steps: ["watch": (1...20_000).map { WallTime(seconds: Double($0)) }])
            commit.positions[Self.phone] = StreamPosition(epoch: "e", next: 5)
            let error = #expect(throws: RecordingError.self) { try history.commit(commit, at: .now) }
            #expect(error?.code == .noSpace)
            #expect(try history.positions().isEmpty)
            #expect(try history.dates(of: "watch").isEmpty)
            // Writing continues when there is room.
            try history.database.write { try $0.execute(sql: "PRAGMA max_page_count = 1000000") }
            try history.commit(commit, at: .now)
            #expect(try history.dates(of: "watch").count == 20_000)
            #expect(try history.positions()[Self.phone]?.next == 5)
        }
    }

    // MARK: The database

    @Test func aSpoiledDatabaseIsSaidSoAndLeftAlone() throws {
        try withTemporaryDirectory { data in
            let path = StepHistory.path(in: data)
            try Directory(path.removingLastComponent()).create()
            let bytes = Data(repeating: 7, count: 10_000)
            try bytes.write(to: URL(filePath: path.string))
            let errors = [
                #expect(throws: RecordingError.self) { try StepHistory(in: data, at: .now) },
                #expect(throws: RecordingError.self) { try StepHistory.check(in: data) },
            ]
            for error in errors {
                #expect(error?.code == .unreadable)
                #expect(error?.description.contains("file is not a database. It is left as it is.") == true)
            }
            #expect(try Data(contentsOf: URL(filePath: path.string)) == bytes)
        }
    }

    @Test func aPageThatWasOverwrittenIsSaidSo() throws {
        try withTemporaryDirectory { data in
            try StepHistory.check(in: data)
            do {
                let history = try StepHistory(in: data, at: .now)
                try history.commit(
                    StepCommit(steps: ["phone": (0..<20_000).map { WallTime(seconds: Double($0)) }]), at: .now)
            }
            try StepHistory.check(in: data)
            let path = StepHistory.path(in: data)
            var bytes = try Data(contentsOf: URL(filePath: path.string))
            for index in 65_536..<min(131_072, bytes.count) { bytes[index] = 0xFF }
            try bytes.write(to: URL(filePath: path.string))
            let error = #expect(throws: RecordingError.self) { try StepHistory.check(in: data) }
            #expect(error?.code == .unreadable)
            #expect(error?.description.contains("move the steps directory away") == true)
        }
    }

    @Test func aNewerDatabaseIsLeftAlone() throws {
        try withTemporaryDirectory { data in
            try StepHistory(in: data, at: .now).database.write {
                try $0.execute(sql: "INSERT INTO grdb_migrations (identifier) VALUES ('9')")
            }
            let error = #expect(throws: RecordingError.self) { try StepHistory(in: data, at: .now) }
            #expect(error?.code == .unreadable)
            #expect(error?.description.contains("a newer step-counter made it") == true)
        }
    }

    @Test func aSubscriptionThatMakesNoSenseIsSaidSo() throws {
        try withTemporaryDirectory { data in
            let history = try StepHistory(in: data, at: .now)
            try history.database.write {
                try $0.execute(
                    sql: """
                        INSERT INTO subscription (id, device, updateOn, startDate, numberOfSteps, lastDate)
                        VALUES ('a', 'phone', 0, 0, 0, 0)
                        """)
            }
            let error = #expect(throws: RecordingError.self) { try history.subscriptions() }
            #expect(error?.code == .unreadable)
        }
    }
}

/// The steps of discarded sessions.
@Suite struct DiscardedStepsTests {
    /// - Parameter discarded: how long ago the session was discarded, in seconds.
    private func discard(
        _ fixture: HistoryFixture, device: String, from: Double, to: Double, discarded: Double = 0
    ) throws {
        var record = SessionRecord(
            session: try SessionIdentifier("alice"), task: "", step: "", streams: ["*"], format: .json, root: .array,
            status: .finished, startDate: fixture.ago(from))
        record.endDate = fixture.ago(to)
        record.logs = [
            SessionRecord.Log(
                name: LogName(device: device, stream: "accelerometer"), device: device, stream: "accelerometer",
                fields: ["uptime", "x"])
        ]
        try SessionDirectory.recordings(in: fixture.data).create()
        try DiscardedSession(record, uploaded: nil, reason: .requested, date: fixture.ago(discarded))
            .append(in: fixture.data)
    }

    @Test func stepsOfTheSessionsDevicesInItsTimeAreRemoved() throws {
        try HistoryFixture.run { fixture in
            try fixture.store("alice-wrist", ago: [500, 300, 250, 200, 100])
            try fixture.store("other", ago: [250])
            try discard(fixture, device: "alice-wrist", from: 300, to: 200)
            #expect(try fixture.remove(before: 10_000) == 3)
            #expect(try fixture.history.dates(of: "alice-wrist") == [fixture.ago(500), fixture.ago(100)])
            #expect(try fixture.ask("other", from: 1_000, to: 0).numberOfSteps == 1)
            // Some steps come late, because a publisher still had the samples.
            try fixture.store("alice-wrist", ago: [240])
            #expect(try fixture.remove(before: 10_000) == 1)
        }
    }

    @Test func stepsThatWaitedForADayAreRemovedToo() throws {
        try HistoryFixture.run { fixture in
            try fixture.store("alice-wrist", ago: [200_000])
            try discard(fixture, device: "alice-wrist", from: 150_000, to: 140_000, discarded: 130_000)
            // Simulates a full disk: the database may not grow.
            try fixture.history.database.write { database in
                let pages = try Int.fetchOne(database, sql: "PRAGMA page_count") ?? 0
                try database.execute(sql: "PRAGMA max_page_count = \(pages)")
            }
            let waiting = (0..<20_000).map { 149_000 - 0.4 * Double($0) }
            #expect(throws: RecordingError.self) { try fixture.store("alice-wrist", ago: waiting) }
            #expect(try fixture.remove(before: 300_000) == 0)
            try fixture.history.database.write { try $0.execute(sql: "PRAGMA max_page_count = 1000000") }
            try fixture.store("alice-wrist", ago: waiting)
            #expect(try fixture.remove(before: 300_000) == 20_000)
            #expect(try fixture.history.dates(of: "alice-wrist") == [fixture.ago(200_000)])
        }
    }

    @Test func theNameOfADeviceWithoutOtherStepsIsNowhere() throws {
        try HistoryFixture.run { fixture in
            let stream = StreamName(device: "alice-wrist", stream: "accelerometer")
            var commit = StepCommit(steps: ["alice-wrist": [fixture.ago(5_000)]])
            commit.spans["alice-wrist"] = [
                CountedSpan(number: 1, start: fixture.ago(5_050), end: fixture.ago(4_950))
            ]
            commit.positions[stream] = StreamPosition(epoch: "e", next: 100)
            try fixture.history.commit(commit, at: fixture.ago(4_900))
            try discard(fixture, device: "alice-wrist", from: 5_100, to: 4_900)
            #expect(try fixture.remove(before: 10_000) == 1)
            #expect(try fixture.history.positions().isEmpty)
            for name in try FileManager.default.contentsOfDirectory(
                atPath: fixture.data.appending("steps").string)
            {
                let bytes = FileManager.default.contents(atPath: fixture.data.appending("steps/\(name)").string)
                #expect(bytes?.firstRange(of: Array("alice".utf8)) == nil, "\(name)")
            }
        }
    }

    @Test func theTimeOfTheSessionIsNotCountedAnyMore() throws {
        try HistoryFixture.run { fixture in
            let first = CountedSpan(number: 1, start: fixture.ago(900), end: fixture.ago(700))
            var second = CountedSpan(
                number: 2, start: fixture.ago(690), end: fixture.ago(100), lost: 5, reason: .notRetained)
            var commit = StepCommit()
            commit.spans["alice-wrist"] = [first, second]
            try fixture.history.commit(commit, at: fixture.now)
            try discard(fixture, device: "alice-wrist", from: 500, to: 300)
            let gap = UncountedTime(from: fixture.ago(500), to: fixture.ago(300), reason: .unknown)
            #expect(try fixture.remove(before: 10_000) == 0)
            #expect(try fixture.ask("alice-wrist", from: 650, to: 150).gaps == [gap])
            // The counter continues the span in its memory.
            second.end = fixture.ago(50)
            commit.spans["alice-wrist"] = [second]
            try fixture.history.commit(commit, at: fixture.now)
            #expect(try fixture.ask("alice-wrist", from: 650, to: 60).gaps == [gap])
            #expect(try fixture.remove(before: 10_000) == 0)
            #expect(try fixture.ask("alice-wrist", from: 650, to: 60).gaps == [gap])
            // The earlier loss is still known.
            #expect(try fixture.ask("alice-wrist", from: 698, to: 692).gaps?.map(\.samples) == [5])
            let later = CountedSpan(number: 2, start: fixture.ago(300), end: fixture.ago(50))
            #expect(try fixture.history.spans() == ["alice-wrist": [first, later]])
        }
    }

    @Test func aSpanThatBeganInTheSessionBeginsBehindIt() throws {
        try HistoryFixture.run { fixture in
            try discard(fixture, device: "alice-wrist", from: 500, to: 300)
            // The counter continues a span that was removed.
            for end in [400.0, 200.0] {
                var commit = StepCommit()
                commit.spans["alice-wrist"] = [
                    CountedSpan(number: 1, start: fixture.ago(450), end: fixture.ago(end))
                ]
                try fixture.history.commit(commit, at: fixture.now)
                #expect(try fixture.remove(before: 10_000) == 0)
            }
            let later = CountedSpan(number: 1, start: fixture.ago(300), end: fixture.ago(200))
            #expect(try fixture.history.spans() == ["alice-wrist": [later]])
        }
    }

    @Test func aStreamThatWasCountedJustNowKeepsItsPosition() throws {
        try HistoryFixture.run { fixture in
            let stream = StreamName(device: "alice-wrist", stream: "accelerometer")
            var commit = StepCommit(steps: ["alice-wrist": [fixture.ago(50)]])
            commit.positions[stream] = StreamPosition(epoch: "e", next: 100)
            try fixture.history.commit(commit, at: fixture.ago(10))
            try discard(fixture, device: "alice-wrist", from: 100, to: 20)
            #expect(try fixture.remove(before: 10_000) == 1)
            #expect(try fixture.history.positions().keys.map(\.self) == [stream])
        }
    }
}
