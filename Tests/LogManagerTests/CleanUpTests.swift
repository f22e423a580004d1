import Files
import FoundationEssentials
import GRDB
import Messages
import Recording
import ServiceKit
import SystemPackage
import TestSupport
import Testing

/// Files that are removed automatically, and files that are removed with their log.
@Suite(.timeLimit(.minutes(2)))
struct CleanUpTests {
    /// Runs a log manager with a session of six files of 10 kB, one a second. Its `session.json` takes 2 kB.
    private func run(
        options: [String: String] = [:],
        _ body: @escaping @Sendable (LogManagerUnderTest, [String]) async throws -> Void
    ) async throws {
        try await withTemporaryDirectory { data in
            let session = try StoredSession(in: data)
            let paths = try (1...6).map { try session.finish(bytes: 10_000, at: "2026-11-20T23:53:0\($0)Z") }
            try await LogManagerUnderTest.run(in: data, options: options) { try await body($0, paths) }
        }
    }

    @Test func nothingGoesByItself() async throws {
        try await run(options: ["total-threshold": "35000", "minimum-free": "1000TB"]) { manager, paths in
            let there = try await manager.paths()
            #expect(there == paths)
            try await eventually("health to tell") {
                let health = manager.health.reply
                return health.status == .degraded && health.reasons.contains { $0.contains("free some space") }
            }
        }
    }

    @Test func theOldestGoWhereTheUserSaysSo() async throws {
        try await run(options: ["total-threshold": "35000", "when-full": "oldest"]) { manager, paths in
            try await eventually("three files") { try await manager.paths() == Array(paths[3...]) }
            #expect(try await manager.send(LogsUsage()).totalBytes == 30_000)
            // Uploaded files are removed first.
            _ = try await manager.send(LogsMarkUploaded(paths: [paths[4]]))
            _ = try await manager.send(LogsSetThresholds(totalBytes: 17_000))
            try await eventually("one file") { try await manager.paths() == [paths[5]] }
            try await eventually("the events") {
                Array(manager.paths(.removed).suffix(2)) == [paths[4], paths[3]]
            }
            #expect(manager.events.filter { $0.change == .removed }.allSatisfy { $0.reason == "whenFull" })
        }
    }

    @Test func onlyWhatWasUploadedGoesWhereTheUserSaysSo() async throws {
        try await run(options: ["total-threshold": "35000", "when-full": "uploaded-only"]) { manager, paths in
            #expect(try await manager.paths() == paths)
            try await eventually("a word about it") {
                manager.health.reply.reasons.contains { $0.contains("allows no more removals") }
            }
            // A clean-up that found nothing pauses for half a minute, but a mark ends the pause.
            let start = ContinuousClock.now
            _ = try await manager.send(LogsMarkUploaded(paths: [paths[0]]))
            try await eventually("a removed file") { try await manager.paths() == Array(paths[1...]) }
            #expect(ContinuousClock.now - start < .seconds(15))
            _ = try await manager.send(LogsSetThresholds(totalBytes: 0))
            _ = try await manager.send(LogsMarkUploaded(paths: [paths[1], paths[5]]))
            _ = try await manager.send(LogsSetThresholds(totalBytes: 58_000))
            #expect(try await manager.paths().contains(paths[2]))
        }
    }

    /// A session's record is removed last: without it, nobody can find out what happened to the session's files.
    @Test(arguments: [("oldest", true), ("uploaded-only", false)])
    func aSessionWithoutFilesIsRemovedIfThatIsNotEnough(policy: String, isGone: Bool) async throws {
        try await run(options: ["when-full": policy]) { manager, paths in
            let session = manager.data.appending("recordings/s").string
            _ = try await manager.send(LogsSetThresholds(totalBytes: 1))
            if isGone {
                try await eventually("no session") { !FileManager.default.fileExists(atPath: session) }
                try await eventually("its event") { manager.paths(.removed).last == "recordings/s" }
                #expect(try await manager.send(LogsUsage()).otherBytes == 0)
                try await eventually("health") { manager.health.reply.status == .ok }
            } else {
                _ = try await manager.send(LogsMarkUploaded(paths: paths))
                try await eventually("no session") { !FileManager.default.fileExists(atPath: session) }
            }
        }
    }

    @Test func aSessionThatWasRetiredBeforeAKillIsPublishedAndErased() async throws {
        try await run(options: ["rescan-interval": "1s"]) { manager, _ in
            let recordings = manager.data.appending("recordings")
            for name in ["~walk-1", "~my notes"] {
                try FileManager.default.createDirectory(
                    atPath: recordings.appending(name).string, withIntermediateDirectories: false)
            }
            try await eventually("no session") {
                !FileManager.default.fileExists(atPath: recordings.appending("~walk-1").string)
            }
            try await eventually("its event") { manager.paths(.removed) == ["recordings/walk-1"] }
            #expect(FileManager.default.fileExists(atPath: recordings.appending("~my notes").string))
        }
    }

    @Test func theRoomOnTheDiskCounts() async throws {
        // This much is never free: all files may be removed, and it is still not enough.
        try await run(options: ["minimum-free": "1000TB", "when-full": "oldest"]) { manager, _ in
            try await eventually("no file") { try await manager.paths().isEmpty }
            try await eventually("a word about it") {
                manager.health.reply.reasons.contains { $0.contains("allows no more removals") }
            }
        }
    }

    @Test func aLogIsRemovedWithItsFilesOnlyWhereThatIsSaid() async throws {
        try await run { manager, paths in
            #expect(try await manager.refusal(LogsRemove(name: "phone_gps"))?.data?.reason == "unknownLog")
            // The log has files, so it is known.
            #expect(try await manager.refusal(LogsRemove(name: "phone_gyro"))?.data?.reason == "wouldDelete")
            _ = try await manager.send(LogsAdd(name: "phone_gyro"))
            _ = try await manager.send(LogsAdd(name: "empty"))
            let refusal = try #require(try await manager.refusal(LogsRemove(name: "phone_gyro")))
            #expect(refusal.data?.reason == "wouldDelete")
            #expect(refusal.message.contains("6 files of 60000 bytes, 6 of them not uploaded"))
            #expect(try await manager.send(LogsRemove(name: "empty")).removed.isEmpty)
            let reply = try await manager.send(LogsRemove(name: "phone_gyro", deleteFiles: true))
            #expect(reply.removed == paths)
            #expect(try await manager.send(LogsNames()).names.isEmpty)
            #expect(try await manager.send(LogsUsage()).totalBytes == 0)
            let removed = try RemovedFile.read(in: Directory(manager.data.appending("recordings/s")))
            #expect(removed.count == 6 && removed.allSatisfy { $0.reason == "logs.remove" && $0.sha256 != nil })
            // A removed log can be added again.
            _ = try await manager.send(LogsAdd(name: "phone_gyro"))
        }
    }

    @Test func listsComeInPieces() async throws {
        try await run { manager, paths in
            let first = try await manager.send(LogsList(limit: 4))
            #expect(first.files.map(\.path) == Array(paths[..<4]) && first.more == true)
            let rest = try await manager.send(LogsList(after: paths[3]))
            #expect(rest.files.map(\.path) == Array(paths[4...]) && rest.more == nil)
            #expect(try await manager.send(LogsList(name: "other")).files.isEmpty)
            _ = try await manager.send(LogsMarkUploaded(paths: [paths[4]]))
            #expect(try await manager.send(LogsList(uploaded: true)).files.map(\.path) == [paths[4]])
            #expect(try await manager.send(LogsList(uploaded: false)).files.count == 5)
            #expect(try await manager.refusal(LogsList(limit: 0))?.data?.reason == "invalidParameter")
            #expect(try await manager.refusal(LogsList(after: "../x"))?.data?.reason == "invalidParameter")
        }
    }

    @Test func aCatalogThatFailsIsToldOfUntilItIsKeptAgain() async throws {
        try await run { manager, _ in
            let catalog = try DatabaseQueue(path: manager.data.appending("catalog/catalog.sqlite").string)
            try await catalog.write { try $0.execute(sql: "ALTER TABLE threshold RENAME TO away") }
            #expect(try await manager.refusal(LogsSetThresholds(totalBytes: 7)) != nil)
            #expect(manager.health.reply.status == .failing)
            try await catalog.write { try $0.execute(sql: "ALTER TABLE away RENAME TO threshold") }
            // Long before the next regular disk scan.
            try await eventually("it is well") { manager.health.reply.status != .failing }
            _ = try await manager.send(LogsSetThresholds(totalBytes: 7))
        }
    }

    @Test func recordingsThatAreNotMountedKeepTheirMarks() async throws {
        try await withTemporaryDirectory { data in
            let path = try StoredSession(in: data).finish()
            try await LogManagerUnderTest.run(in: data) { manager in
                let done = try await manager.send(LogsMarkUploaded(paths: [path])).done
                #expect(done == [path])
            }
            let (recordings, disk) = (data.appending("recordings"), data.appending("disk"))
            try FileManager.default.moveItem(atPath: recordings.string, toPath: disk.string)
            // A recorder began in the empty directory.
            try Directory(recordings.appending(".wal")).create()
            try Directory(recordings).replace(".lock", with: [])
            try await LogManagerUnderTest.run(in: data) { manager in
                let known = try await manager.paths()
                #expect(known == [path])
                #expect(manager.health.reply.reasons.contains { $0.contains("is the disk mounted?") })
            }
            try FileManager.default.removeItem(atPath: recordings.string)
            try FileManager.default.moveItem(atPath: disk.string, toPath: recordings.string)
            try await LogManagerUnderTest.run(in: data) { manager in
                let uploaded = try await manager.send(LogsList(uploaded: true)).files
                #expect(uploaded.map(\.path) == [path])
            }
        }
    }

    @Test func theWriteAheadLogIsCountedOnce() async throws {
        try await withTemporaryDirectory { data in
            let log = Directory(data.appending("recordings/.wal"))
            try log.create()
            try log.replace("0000000000000000.wal", with: [UInt8](repeating: 0, count: 1_000))
            try await LogManagerUnderTest.run(in: data) { manager in
                let usage = try await manager.send(LogsUsage())
                #expect(usage.otherBytes == 1_000)
            }
        }
    }

    @Test func filesThatComeGoOrChangeAreNoticed() async throws {
        try await run(options: ["rescan-interval": "1s"]) { manager, paths in
            _ = try await manager.send(LogsMarkUploaded(paths: [paths[0], paths[1]]))
            try FileManager.default.removeItem(atPath: manager.data.appending(paths[5]).string)
            try Data(repeating: 0, count: 11_000).write(to: URL(filePath: manager.data.appending(paths[0]).string))
            // The changed file is not the uploaded one, even before the change is noticed.
            let outcome = try await manager.send(LogsRemoveUploaded(paths: [paths[0]]))
            #expect(outcome.done.isEmpty || outcome.refused.isEmpty)
            #expect(outcome.refused.count == 1)
            let more = try StoredSession("t", in: manager.data).finish(bytes: 5_000)
            try await eventually("the disk's state") {
                let usage = try await manager.send(LogsUsage())
                return usage.totalBytes == 56_000 && usage.pendingUploadBytes == 46_000
            }
            let known = try await manager.paths()
            #expect(Set(known) == Set(paths[..<5] + [more]))
            #expect(try await manager.pending().contains(paths[0]))
        }
    }
}
