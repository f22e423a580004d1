import FoundationEssentials
import Messages
import Recording
import SystemPackage
import TestSupport
import Testing

/// Requirements from the predecessor's users and its own tests, against a whole log manager; the case numbers are those of SEEDS.
@Suite(.timeLimit(.minutes(2)))
struct AcceptanceTests {
    /// Runs a log manager on a directory of its own, or twice in succession on the same one.
    private func run(
        options: [String: String] = [:], _ prepare: @escaping @Sendable (FilePath) throws -> Void = { _ in },
        _ body: @escaping @Sendable (LogManagerUnderTest) async throws -> Void,
        then again: (@Sendable (LogManagerUnderTest) async throws -> Void)? = nil
    ) async throws {
        try await withTemporaryDirectory { data in
            try prepare(data)
            try await LogManagerUnderTest.run(in: data, options: options, body)
            if let again { try await LogManagerUnderTest.run(in: data, options: options, again) }
        }
    }

    @Test func case17ThresholdsSurviveARestart() async throws {
        try await run { manager in
            #expect(try await manager.send(LogsThresholds()) == LogThresholds())
            let reply = try await manager.send(LogsSetThresholds(pendingUploadBytes: 12, totalBytes: 10))
            #expect(reply == LogThresholds(pendingUploadBytes: 12, totalBytes: 10))
        } then: { manager in
            let reply = try await manager.send(LogsThresholds())
            #expect(reply == LogThresholds(pendingUploadBytes: 12, totalBytes: 10))
        }
    }

    @Test func case18EachOfThreeLogsIsFoundByItsName() async throws {
        try await run { manager in
            for name in ["three", "one", "two"] { _ = try await manager.send(LogsAdd(name: name)) }
            #expect(try await manager.send(LogsNames()).names == ["one", "three", "two"])
            for name in ["one", "two", "three"] {
                let log = try await manager.send(LogsGet(name: name))
                #expect(log == LogConfiguration(name: name))
                #expect(log.maximumFileSize == 64_000_000 && log.maximumFileAge == 259_200)
            }
            #expect(try await manager.refusal(LogsAdd(name: "two"))?.data?.reason == "alreadyExists")
            #expect(try await manager.refusal(LogsGet(name: "four"))?.data?.reason == "unknownLog")
        }
    }

    @Test func case19FilesAreListedInTheOrderOfTheirFinishing() async throws {
        try await run { data in
            let session = try StoredSession(in: data)
            for (log, second) in [("log3", 1), ("log3", 1), ("log1", 3), ("log2", 5), ("log1", 7)] {
                try session.finish(log, at: "2026-11-20T23:53:0\(second)Z")
            }
        } _: { manager in
            let files = try await manager.send(LogsNeedingUpload()).files
            #expect(files.map(\.name) == ["log3", "log3", "log1", "log2", "log1"])
            #expect(files.map(\.path)[1].hasSuffix("log3-20261120235301-01.json"))
            #expect(zip(files, files.dropFirst()).allSatisfy { $0.finished < $1.finished })
        }
    }

    @Test func case20OldFilesAreRemovedToAThreshold() async throws {
        try await run { manager in
            _ = try await manager.send(LogsSetThresholds(totalBytes: 10))
            let session = try StoredSession(in: manager.data)
            for _ in 0..<3 { try await manager.announce(session.event(session.finish())) }
            try await eventually("an event of the threshold") { manager.crossings("totalBytes").count == 1 }
            let usage = try await manager.send(LogsUsage())
            #expect(usage.totalBytes == 81 && usage.pendingUploadBytes == 81)
            let reply = try await manager.send(LogsRemoveOldAndUploaded(bytes: 9))
            #expect(reply.removed.count == 3 && reply.totalBytes == 0)
            try await eventually("three events") { manager.paths(.removed).count == 3 }
            #expect(manager.paths(.removed) == reply.removed)
            let more = try StoredSession("t", in: manager.data)
            try await manager.announce(more.event(more.finish()))
            try await eventually("a second event") { manager.crossings("totalBytes").count == 2 }
            // One event for the crossing, not one for each of the three files; and none for a threshold that is not set.
            let crossings = manager.crossings("totalBytes")
            #expect(crossings.map(\.bytes) == [27, 27])
            #expect(crossings.allSatisfy { $0.limit == 10 && $0.name == "*" })
            #expect(manager.crossings("pendingUploadBytes").isEmpty)
        }
    }

    @Test func case21AThresholdIsSaidOncePerCrossing() async throws {
        try await run { manager in
            _ = try await manager.send(LogsSetThresholds(pendingUploadBytes: 10))
            let session = try StoredSession(in: manager.data)
            for _ in 0..<3 { try await manager.announce(session.event(session.finish())) }
            try await eventually("an event") { manager.crossings("pendingUploadBytes").count == 1 }
            let paths = try await manager.pending()
            #expect(paths.count == 3)
            _ = try await manager.send(LogsMarkUploaded(paths: paths))
            let usage = try await manager.send(LogsUsage())
            #expect(usage.pendingUploadBytes == 0 && usage.totalBytes == 81)
            for _ in 0..<3 { try await manager.announce(session.event(session.finish())) }
            try await eventually("a second event") { manager.crossings("pendingUploadBytes").count == 2 }
            #expect(manager.crossings("totalBytes").isEmpty)
        }
    }

    @Test func case60MarksSurviveARestartAndGuardRemoval() async throws {
        let paths = ["", "-01", "-02"].map { "recordings/s/phone_gyro-20261120235301\($0).json" }
        try await run { data in
            let session = try StoredSession(in: data)
            for path in paths { #expect(try session.finish() == path) }
            try Data("mine".utf8).write(to: URL(filePath: data.appending("foreign.json").string))
        } _: { manager in
            let outcome = try await manager.send(
                LogsMarkUploaded(paths: [paths[0], paths[1]], receipt: .object(["id": .integer(7)])))
            #expect(outcome == LogFileOutcome(done: [paths[0], paths[1]], refused: []))
            try await eventually("the events") { manager.paths(.marked) == outcome.done }
        } then: { manager in
            let files = try await manager.send(LogsList()).files
            #expect(files.map(\.uploaded) == [true, true, false])
            #expect(files.map(\.receipt) == [.object(["id": .integer(7)]), .object(["id": .integer(7)]), nil])
            #expect(try await manager.pending() == [paths[2]])
            _ = try await manager.send(LogsUnmarkUploaded(paths: [paths[1]]))
            #expect(try await manager.pending() == [paths[1], paths[2]])

            let foreign = ["foreign.json", "../etc/passwd", "/etc/passwd", "recordings/s/session.json"]
            let outcome = try await manager.send(
                LogsRemoveUploaded(paths: [paths[2]] + foreign + [paths[0]]))
            #expect(outcome.done == [paths[0]])
            #expect(Set(outcome.refused.map(\.path)) == Set([paths[2]] + foreign))
            let unmarked = try #require(outcome.refused.first { $0.path == paths[2] })
            #expect(unmarked.reason.contains("not marked as uploaded"))
            #expect(try await manager.paths() == [paths[1], paths[2]])
            for path in [paths[1], paths[2], "foreign.json", "recordings/s/session.json"] {
                #expect(FileManager.default.fileExists(atPath: manager.data.appending(path).string), "\(path)")
            }
            #expect(!FileManager.default.fileExists(atPath: manager.data.appending(paths[0]).string))
        }
    }

    @Test func case61OneByteMoreThanTheThresholdIsSaidOnce() async throws {
        try await run(options: ["pending-threshold": "27"]) { manager in
            let session = try StoredSession(in: manager.data)
            try await manager.announce(session.event(session.finish(bytes: 27)))
            #expect(try await manager.send(LogsUsage()).pendingUploadBytes == 27)
            let small = try session.finish(bytes: 1)
            try await manager.announce(session.event(small))
            try await eventually("an event") { manager.crossings("pendingUploadBytes").count == 1 }
            // Equal to the limit again: the threshold is re-armed.
            _ = try await manager.send(LogsMarkUploaded(paths: [small]))
            try await manager.announce(session.event(session.finish(bytes: 1)))
            try await eventually("a second event") { manager.crossings("pendingUploadBytes").count == 2 }
            #expect(manager.crossings("pendingUploadBytes").map(\.bytes) == [28, 28])
        }
    }

    @Test func case62UploadedFilesGoFirstAndNoMoreThanNeeded() async throws {
        try await run { data in
            let open = try StoredSession("open", in: data, status: .running)
            try open.write("phone_gyro.json", bytes: 1_000)
            let session = try StoredSession(in: data)
            for second in 1...4 { try session.finish(bytes: 10, at: "2026-11-20T23:53:0\(second)Z") }
        } _: { manager in
            let paths = try await manager.paths()
            _ = try await manager.send(LogsMarkUploaded(paths: [paths[2]]))
            let first = try await manager.send(LogsRemoveOldAndUploaded(bytes: 30))
            #expect(first == LogsRemoveOldAndUploaded.Reply(removed: [paths[2]], totalBytes: 30))
            let second = try await manager.send(LogsRemoveOldAndUploaded(bytes: 29))
            #expect(second == LogsRemoveOldAndUploaded.Reply(removed: [paths[0]], totalBytes: 20))
            let usage = try await manager.send(LogsUsage())
            #expect(usage.currentBytes == 1_000 && usage.totalBytes == 20)
            #expect(try await manager.refusal(LogsRemoveOldAndUploaded(bytes: -1))?.data?.reason == "invalidParameter")
            // A hard link is indistinguishable from another person's file, so it stays.
            let kept = manager.data.appending(paths[1]).string
            try FileManager.default.linkItem(atPath: kept, toPath: manager.data.appending("link").string)
            let refusal = try await manager.refusal(LogsRemoveOldAndUploaded(bytes: 0))
            #expect(refusal?.data?.reason == "notEnough")
            #expect(try await manager.paths() == [paths[1]])
            #expect(FileManager.default.fileExists(atPath: kept))
            #expect(
                FileManager.default.fileExists(
                    atPath: manager.data.appending("recordings/open/phone_gyro.json").string))
        }
    }

    @Test func case63LimitsThresholdsAndCountsAreThereAfterARestart() async throws {
        let log = LogConfiguration(name: "phone_gyro", format: "csv", maximumFileSize: 5_000, maximumFileAge: 60)
        let thresholds = LogThresholds(pendingUploadBytes: 1_000, totalBytes: 2_000, minimumFreeBytes: 3)
        try await withTemporaryDirectory { data in
            let session = try StoredSession(in: data)
            let paths = try (0..<3).map { _ in try session.finish(bytes: 100) }
            try await LogManagerUnderTest.run(in: data) { manager in
                let added = try await manager.send(
                    LogsAdd(name: log.name, format: "csv", maximumFileSize: 5_000, maximumFileAge: 60))
                #expect(added == log)
                _ = try await manager.send(
                    LogsSetThresholds(pendingUploadBytes: 1_000, totalBytes: 2_000, minimumFreeBytes: 3))
                _ = try await manager.send(LogsMarkUploaded(paths: [paths[0]]))
            }
            // While the log manager is down, one file appears and another disappears.
            try session.finish(bytes: 40)
            try FileManager.default.removeItem(atPath: data.appending(paths[1]).string)
            try await LogManagerUnderTest.run(in: data) { manager in
                let usage = try await manager.send(LogsUsage(logs: true))
                #expect(usage.totalBytes == 240 && usage.pendingUploadBytes == 140)
                let logs = try #require(usage.logs)
                #expect(logs.count == 1 && logs[0].files == 3)
                #expect(logs[0].pendingFiles == 2 && logs[0].pendingBytes == 140)
                #expect(try await manager.send(LogsGet(name: log.name)) == log)
                #expect(try await manager.send(LogsThresholds()) == thresholds)
            }
        }
    }
}
