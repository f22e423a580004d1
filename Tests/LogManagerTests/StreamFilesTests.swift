import Files
import Messages
import Recording
import ServiceKit
import Testing

@testable import LogManagerCore

/// The log manager's decisions: in which order, until when, and what after a failure.
@Suite struct StreamFilesTests {
    /// Kills and power cuts happen between these steps: the next start completes each state.
    @Test func theLedgerComesBeforeTheFileAndAfterIt() throws {
        let manager = try ScriptedLogManager(files: 2)
        let answer = manager.core.removeOldAndUploaded(LogsRemoveOldAndUploaded(bytes: 10), at: manager.now)
        manager.perform()
        #expect(manager.catalog.ledger.count == 1)
        var steps: [RemovalStep?] = []
        while !manager.waiting.isEmpty {
            #expect(manager.catalog.ledger.count == 1 && answer.result == nil)
            steps.append(manager.carryOutNext())
        }
        #expect(steps == [.check, .list(.removeOldAndUploaded, manager.now.date), .unlink, .sync])
        #expect(manager.catalog.ledger.isEmpty)
        #expect(try answer.result?.get().totalBytes == 10)
    }

    /// Killed just after the ledger forgot the file: its event was published before.
    @Test func aRemovalIsPublishedBeforeTheLedgerForgetsIt() throws {
        let manager = try ScriptedLogManager(files: 2)
        _ = manager.core.removeOldAndUploaded(LogsRemoveOldAndUploaded(bytes: 0), at: manager.now)
        manager.perform()
        let paths = manager.catalog.ledger.map(\.file.path)
        var order: [String] = []
        manager.observe = { effect in
            switch effect {
            case .change(_, .endRemoval(let files)): order += files.map { "forgotten \($0.path)" }
            case .notice(.publish(let event)): order += ["published \((event as? LogFileEvent)?.path ?? "")"]
            default: break
            }
        }
        manager.carryOutAll()
        #expect(order == paths.map { "published \($0)" } + paths.map { "forgotten \($0)" })
    }

    /// If the ledger cannot be written, it keeps the file until later, but the removal is not published again.
    @Test func aRemovalIsPublishedOnceAlsoIfTheLedgerFails() throws {
        let manager = try ScriptedLogManager(files: 1)
        let paths = manager.paths
        _ = manager.core.removeOldAndUploaded(LogsRemoveOldAndUploaded(bytes: 0), at: manager.now)
        manager.perform()
        for _ in 0..<3 { manager.carryOutNext() }
        manager.catalog.isFull = true
        manager.carryOutNext()
        #expect(manager.catalog.ledger.count == 1 && manager.published(.removed) == paths)
        manager.catalog.isFull = false
        manager.wait(seconds: 5)
        manager.carryOutAll()
        #expect(manager.catalog.ledger.isEmpty && manager.published(.removed) == paths)
    }

    /// If the program is killed in between, the next run finds each session again and publishes its removal then.
    @Test func sessionsArePublishedBeforeTheyAreErased() throws {
        let manager = try ScriptedLogManager(files: 0, whenFull: .oldest, remains: ["a", "b"])
        _ = manager.core.setThresholds(LogsSetThresholds(totalBytes: 1), at: manager.now)
        var order: [String] = []
        manager.observe = { effect in
            switch effect {
            case .retireRemains(let sessions, _): order += sessions.map { "retired \($0)" }
            case .notice(.publish(let event)): order += [(event as? LogFileEvent)?.path ?? ""]
            case .eraseRemains(let sessions): order += sessions.map { "erased \($0)" }
            default: break
            }
        }
        manager.perform()
        while manager.retired.isEmpty { manager.carryOutNext() }
        #expect(manager.published(.removed) == ["recordings/a", "recordings/b"])
        manager.carryOutAll()
        #expect(manager.retired.isEmpty)
        // The first event is that the threshold is crossed.
        #expect(
            order.drop { $0.isEmpty } == [
                "retired a", "retired b", "recordings/a", "recordings/b", "erased a", "erased b",
            ])
    }

    @Test func sessionsThatWereRetiredBeforeAKillArePublishedAndErased() throws {
        let manager = try ScriptedLogManager(files: 0, retired: ["a", "b"])
        #expect(manager.published(.removed) == ["recordings/a", "recordings/b"] && manager.retired.isEmpty)
    }

    @Test func theRemovalOfASessionThatIsGoneIsNotPublished() throws {
        let manager = try ScriptedLogManager(files: 0, whenFull: .oldest, remains: ["a", "b"])
        _ = manager.core.setThresholds(LogsSetThresholds(totalBytes: 1), at: manager.now)
        manager.remains[try SessionIdentifier("a")] = nil
        manager.perform()
        manager.carryOutAll()
        #expect(manager.published(.removed) == ["recordings/b"])
        #expect(manager.core.remainingBytes == 0)
    }

    @Test func whatCannotBeErasedIsPublishedOnce() throws {
        let manager = try ScriptedLogManager(files: 0)
        manager.retired = [try SessionIdentifier("a")]
        manager.core.noteReconnect()
        manager.wait(seconds: 5)
        manager.carryOutNext()
        manager.carryOutNext(failing: RemovalFailure("permission denied"))
        #expect(manager.published(.removed) == ["recordings/a"] && !manager.retired.isEmpty)
        manager.core.noteReconnect()
        manager.wait(seconds: 5)
        manager.carryOutAll()
        #expect(manager.published(.removed) == ["recordings/a"] && manager.retired.isEmpty)
    }

    @Test func aDryRunErasesNothing() throws {
        let manager = try ScriptedLogManager(files: 0, retired: ["a"], isDryRun: true)
        #expect(manager.published(.removed).isEmpty && manager.retired.count == 1)
    }

    /// Stream files cannot be removed without the ledger; the clean-up must not remove sessions' records instead.
    @Test func recordsOfSessionsDoNotGoBecauseTheCatalogFails() throws {
        let manager = try ScriptedLogManager(
            files: 1, thresholds: LogsSetThresholds(minimumFreeBytes: 500_000), whenFull: .oldest, remains: ["a"])
        let path = manager.paths[0]
        manager.catalog.isBroken = true
        manager.freeBytes = 499_999
        for _ in 0..<60 {
            manager.wait(seconds: 1)
            manager.carryOutAll()
        }
        #expect(manager.published(.removed).isEmpty && manager.remains.count == 1)
        // The clean-up soon tries again.
        manager.catalog.isBroken = false
        for _ in 0..<5 {
            manager.wait(seconds: 1)
            manager.carryOutAll()
        }
        #expect(manager.published(.removed).first == path)
    }

    /// Removing a record needs no ledger, and makes room for the ledger.
    @Test func recordsOfSessionsGoIfTheLedgerHasNoRoom() throws {
        let manager = try ScriptedLogManager(
            files: 1, thresholds: LogsSetThresholds(minimumFreeBytes: 500_000), whenFull: .oldest, remains: ["a"])
        manager.catalog.isFull = true
        manager.freeBytes = 0
        manager.wait(seconds: 1)
        manager.carryOutAll()
        #expect(manager.published(.removed) == ["recordings/a"] && manager.paths.count == 1)
    }

    /// The list of removed files must not prevent the clean-up of a full disk.
    @Test func aListThatHasNoRoomIsWrittenAfterTheRemoval() throws {
        let manager = try ScriptedLogManager(files: 1)
        _ = manager.core.removeOldAndUploaded(LogsRemoveOldAndUploaded(bytes: 0), at: manager.now)
        manager.perform()
        manager.carryOutNext()
        manager.carryOutNext(failing: RemovalFailure("no space", isDiskFull: true))
        let steps = [manager.carryOutNext(), manager.carryOutNext(), manager.carryOutNext()]
        #expect(steps == [.unlink, .sync, .list(.removeOldAndUploaded, manager.now.date)])
        #expect(manager.catalog.ledger.isEmpty && manager.published(.removed).count == 1)
    }

    /// Until its directory is synced, a power cut may bring a removed file back.
    @Test func aRemovalThatIsNotSyncedStaysInTheLedgerUntilItIs() throws {
        let manager = try ScriptedLogManager(files: 1)
        let paths = manager.paths
        let answer = manager.core.removeOldAndUploaded(LogsRemoveOldAndUploaded(bytes: 0), at: manager.now)
        manager.perform()
        for _ in 0..<3 { manager.carryOutNext() }
        manager.carryOutNext(failing: RemovalFailure("input/output error"))
        #expect(answer.result != nil)
        #expect(manager.catalog.ledger.count == 1 && manager.published(.removed).isEmpty)
        manager.wait(seconds: 1)
        #expect(manager.waiting.isEmpty)
        manager.wait(seconds: 4)
        manager.carryOutAll()
        #expect(manager.catalog.ledger.isEmpty && manager.published(.removed) == paths)
    }

    /// The time limit includes the wait in the queue, or the client would get no timely answer.
    @Test func aRequestThatWaitedTooLongIsRefusedAndNotBegun() throws {
        let manager = try ScriptedLogManager(files: 4)
        let paths = manager.paths
        _ = manager.core.removeOldAndUploaded(LogsRemoveOldAndUploaded(bytes: 30), at: manager.now)
        let second = manager.core.removeOldAndUploaded(LogsRemoveOldAndUploaded(bytes: 0), at: manager.now)
        let third = manager.core.removeUploaded(LogsRemoveUploaded(paths: [paths[3]]), at: manager.now)
        manager.perform()
        #expect(manager.core.waitingRemovals == 2)
        manager.wait(seconds: 19)
        #expect(second.result == nil)
        // The disk takes its time with the first.
        manager.wait(seconds: 2)
        #expect(throws: RequestError.self) { try second.result?.get() }
        #expect(try third.result?.get().refused.map(\.reason) == ["there was no time for it; repeat the request"])
        manager.carryOutAll()
        #expect(manager.published(.removed) == [paths[0]])
    }

    @Test func aCleanUpMakesWayForARequest() throws {
        let manager = try ScriptedLogManager(
            files: 20, thresholds: LogsSetThresholds(totalBytes: 10), whenFull: .oldest)
        // The clean-up ran at the start; these files are left.
        #expect(manager.paths.count == 1)
        let busy = try ScriptedLogManager(files: 20, whenFull: .oldest)
        _ = busy.core.setThresholds(LogsSetThresholds(totalBytes: 10), at: busy.now)
        busy.perform()
        let answer = busy.core.removeOldAndUploaded(LogsRemoveOldAndUploaded(bytes: 150), at: busy.now)
        busy.perform()
        var steps = 0
        while answer.result == nil {
            busy.carryOutNext()
            steps += 1
        }
        // One piece of the clean-up, and two of the request's own.
        #expect(steps == 12)
        #expect(try answer.result?.get().totalBytes == 150)
        busy.carryOutAll()
        #expect(busy.paths.count == 1)
    }

    /// The guarantee: a policy acts within a second of the event that allows it to act.
    @Test func aPolicyActsWithinASecondOfAMark() throws {
        let manager = try ScriptedLogManager(
            files: 2, thresholds: LogsSetThresholds(totalBytes: 10), whenFull: .uploadedOnly)
        // The policy found nothing to remove, and pauses.
        manager.wait(seconds: 1)
        #expect(manager.waiting.isEmpty && manager.published(.removed).isEmpty)
        let path = manager.paths[1]
        _ = manager.core.mark(LogsMarkUploaded(paths: [path]), at: manager.now)
        manager.perform()
        manager.carryOutAll()
        manager.wait(seconds: 1)
        manager.carryOutAll()
        #expect(manager.published(.removed) == [path])
    }

    @Test func aPolicyActsWithinASecondOfACrossing() throws {
        let manager = try ScriptedLogManager(files: 3, whenFull: .oldest)
        let oldest = manager.paths[0]
        _ = manager.core.setThresholds(LogsSetThresholds(totalBytes: 20), at: manager.now)
        manager.perform()
        manager.carryOutAll()
        #expect(manager.published(.removed) == [oldest])
        // Other programs fill the disk: the next measurement, at most a second later, notices it.
        _ = manager.core.setThresholds(LogsSetThresholds(minimumFreeBytes: 500_000), at: manager.now)
        manager.perform()
        manager.carryOutAll()
        #expect(manager.published(.removed) == [oldest])
        manager.freeBytes = 499_999
        manager.core.wake(at: manager.now)
        #expect(manager.core.nextDeadline - manager.now.monotonic <= 1_000_000_000)
        manager.wait(seconds: 1)
        #expect(!manager.waiting.isEmpty)
        manager.carryOutAll()
        #expect(manager.published(.removed).count > 1)
    }

    /// Some file systems free space long after a removal. Until then the clean-up must not remove more.
    @Test func spaceThatShowsLateIsAwaited() throws {
        let manager = try ScriptedLogManager(
            files: 10, thresholds: LogsSetThresholds(minimumFreeBytes: 1_000_000), whenFull: .oldest)
        let paths = manager.paths
        func wait(seconds: Int) {
            for _ in 0..<seconds {
                manager.wait(seconds: 1)
                manager.carryOutAll()
            }
        }
        manager.freeBytes = 999_995
        wait(seconds: 5)
        #expect(manager.published(.removed) == [paths[0]])
        // A mark ends another pause, but not this one.
        _ = manager.core.mark(LogsMarkUploaded(paths: [paths[9]]), at: manager.now)
        manager.perform()
        manager.carryOutAll()
        wait(seconds: 30)
        #expect(manager.published(.removed) == [paths[0]])
        // The space never shows: other files are needed.
        wait(seconds: 1)
        #expect(manager.published(.removed) == [paths[0], paths[9]])
        manager.freeBytes = 1_000_005
        wait(seconds: 100)
        #expect(manager.published(.removed).count == 2)
        // Space that shows at once is not awaited.
        manager.freeBytes = 999_990
        manager.wait(seconds: 1)
        manager.freeBytes = 999_999
        manager.carryOutAll()
        #expect(manager.published(.removed).count == 4)
    }

    @Test func aLogThatHasFilesIsKnownAndCanBeChanged() throws {
        let manager = try ScriptedLogManager(files: 2)
        #expect(manager.core.names == LogsNames.Reply(names: ["phone_gyro"]))
        #expect(try manager.core.configuration(LogsGet(name: "phone_gyro")) == LogConfiguration(name: "phone_gyro"))
        let answer = manager.core.set(LogsSet(name: "phone_gyro", maximumFileSize: 7), at: manager.now)
        manager.perform()
        let changed = LogConfiguration(name: "phone_gyro", maximumFileSize: 7)
        #expect(try answer.result?.get() == changed)
        #expect(try manager.core.configuration(LogsGet(name: "phone_gyro")) == changed)
        // Omitted values stay.
        _ = manager.core.set(LogsSet(name: "phone_gyro", format: "csv"), at: manager.now)
        manager.perform()
        #expect(try manager.core.configuration(LogsGet(name: "phone_gyro")).maximumFileSize == 7)
        for request in [LogsSet(name: "phone_gps"), LogsSet(name: "phone_*"), LogsSet(name: "no name")] {
            #expect(throws: RequestError.self) { try manager.core.set(request, at: manager.now).result?.get() }
        }
        let removal = manager.core.remove(LogsRemove(name: "phone_gyro", deleteFiles: true), at: manager.now)
        manager.perform()
        manager.carryOutAll()
        #expect(try removal.result?.get().removed.count == 2)
        #expect(manager.core.names.names.isEmpty)
        #expect(throws: RequestError.self) { try manager.core.configuration(LogsGet(name: "phone_gyro")) }
    }

    @Test func aPatternIsAboutAllLogsOfItsNames() throws {
        let manager = try ScriptedLogManager(files: 2)
        let added = manager.core.add(LogsAdd(name: "phone_*", format: "csv", maximumFileSize: 7), at: manager.now)
        manager.perform()
        #expect(try added.result?.get().maximumFileAge == LogConfiguration.defaultMaximumFileAge)
        #expect(try manager.core.configuration(LogsGet(name: "phone_gps")).maximumFileSize == 7)
        #expect(try manager.core.configuration(LogsGet(name: "phone_*")).format == "csv")
        #expect(manager.core.names == LogsNames.Reply(names: ["phone_gyro"], patterns: ["phone_*"]))
        // A recorder asks for a log that is still unknown.
        #expect(throws: RequestError.self) { try manager.core.configuration(LogsGet(name: "watch_gyro")) }
        let unknown = try manager.core.configuration(LogsGet(name: "watch_gyro", orDefaults: true))
        #expect(unknown == LogConfiguration(name: "watch_gyro"))
        // The pattern has no files of its own.
        let removal = manager.core.remove(LogsRemove(name: "phone_*"), at: manager.now)
        manager.perform()
        #expect(try removal.result?.get().removed == [])
        #expect(manager.paths.count == 2)
    }

    @Test func aFileThatIsNamedTwiceIsMarkedOnce() throws {
        let manager = try ScriptedLogManager(files: 6)
        let paths = manager.paths
        let answer = manager.core.mark(LogsMarkUploaded(paths: paths + paths), at: manager.now)
        manager.perform()
        manager.carryOutAll()
        #expect(try answer.result?.get() == LogFileOutcome(done: paths, refused: []))
        #expect(manager.published(.marked) == paths)
    }

    /// The receiver has the file as it was when its archive was made; the changed file exists nowhere else.
    @Test func aFileThatChangedAfterItsArchiveIsNotMarked() throws {
        let manager = try ScriptedLogManager(files: 2)
        let paths = manager.paths
        func add(_ name: FinishedName, bytes: Int, sha256: String? = nil) throws {
            let file = ScannedFile(
                session: try SessionIdentifier("s"), name: name,
                identity: FileIdentity(device: 1, inode: 9, bytes: bytes, modified: 0),
                finished: WallTime(nanosecondsSince1970: 9), sha256: sha256, isFinished: true)
            _ = try manager.catalog.apply(.add(file))
        }
        let known = String(repeating: "0f", count: 32)
        try add(manager.catalog.listed[0].name, bytes: 12)
        try add(
            FinishedName(log: LogName("phone_gps"), stamp: "20261120235301", count: 0, format: .json), bytes: 10,
            sha256: known)
        let hashed = try #require(manager.paths.first { $0.contains("phone_gps") })
        func mark(_ path: String, sha256: String) throws -> LogFileOutcome? {
            let file = LogsMarkUploaded.File(path: path, bytes: 10, sha256: sha256)
            let answer = manager.core.mark(LogsMarkUploaded(paths: [path], files: [file]), at: manager.now)
            manager.perform()
            manager.carryOutAll()
            return try answer.result?.get()
        }
        let other = String(repeating: "0e", count: 32)
        let refusal = try #require(try mark(paths[0], sha256: known)?.refused.first)
        #expect(refusal.reason.contains("it has 12 bytes, and 10 were uploaded"))
        #expect(try mark(hashed, sha256: other)?.refused.count == 1)
        #expect(manager.published(.marked).isEmpty)
        // Without a known hash, only sizes are compared.
        #expect(try mark(paths[1], sha256: other)?.done == [paths[1]])
        #expect(try mark(hashed, sha256: known)?.done == [hashed])
    }

    /// The clean-up had paused for half a minute, during which an upload made no room.
    @Test func aCleanUpThatWasStuckContinuesWhenAFileIsMarked() throws {
        let manager = try ScriptedLogManager(
            files: 3, thresholds: LogsSetThresholds(totalBytes: 25), whenFull: .uploadedOnly)
        manager.wait(seconds: 1)
        manager.carryOutAll()
        #expect(manager.paths.count == 3)
        let paths = manager.paths
        _ = manager.core.mark(LogsMarkUploaded(paths: [paths[2]]), at: manager.now)
        manager.perform()
        manager.carryOutAll()
        #expect(manager.published(.removed) == [paths[2]])
    }

    /// A dry run lists what a clean-up removes: each of these files occupies a block on the disk.
    @Test func aDryRunCountsBlocksAsACleanUpDoes() throws {
        let manager = try ScriptedLogManager(
            files: 5, thresholds: LogsSetThresholds(minimumFreeBytes: 1_004_097), whenFull: .nothing)
        let paths = manager.paths
        let core = StreamFiles(
            StreamFiles.Settings(
                thresholds: LogsSetThresholds(minimumFreeBytes: 1_004_097), whenFull: .oldest, rescanInterval: .max),
            catalog: manager.catalog, isDryRun: true)
        core.take(freeBytes: 1_000_000, at: manager.now)
        #expect(try core.removalCandidates().files.map(\.path) == Array(paths.prefix(2)))
    }

    /// The comparison found none of the session's files, because it came after the unlinking.
    @Test func aFileThatAComparisonMissedIsNotCountedTwice() throws {
        let manager = try ScriptedLogManager(files: 1, whenFull: .oldest, remains: ["s"])
        let path = manager.paths[0]
        _ = manager.core.setThresholds(LogsSetThresholds(totalBytes: 1), at: manager.now)
        manager.perform()
        manager.carryOutAll()
        #expect(manager.published(.removed) == [path, "recordings/s"])
    }

    /// A client accepts at most 32 MiB.
    @Test func aListWithLongReceiptsComesInPieces() throws {
        let manager = try ScriptedLogManager(files: 500, pieceSize: 500)
        let paths = manager.paths
        let receipt = JSONValue.string(String(repeating: "x", count: 100_000))
        _ = manager.core.mark(LogsMarkUploaded(paths: paths, receipt: receipt), at: manager.now)
        manager.perform()
        manager.carryOutAll()
        var listed: [String] = []
        var more = true
        while more {
            let list = try manager.core.files(
                of: nil, isUploaded: true, after: listed.last, limit: nil, at: manager.now)
            try #require(!list.files.isEmpty)
            #expect(try WireCoding.encode(list).count < 16_000_000)
            listed += list.files.map(\.path)
            more = list.more == true
        }
        #expect(listed == paths)
    }

    @Test func aFullDiskLeavesRoomForTheLedger() throws {
        let manager = try ScriptedLogManager(files: 1)
        manager.catalog.isFull = true
        let answer = manager.core.removeOldAndUploaded(LogsRemoveOldAndUploaded(bytes: 0), at: manager.now)
        var effects = manager.core.takeEffects()
        guard case .change(let number, let change) = effects.removeFirst() else {
            Issue.record("the ledger comes first")
            return
        }
        let failure = #expect(throws: RecordingError.self) { try manager.catalog.apply(change) }
        manager.core.changed(number, .failure(try #require(failure)), at: manager.now)
        effects = manager.core.takeEffects()
        guard case .releaseReserve = effects.first, effects.count == 2 else {
            Issue.record("the reserve was not used")
            return
        }
        manager.catalog.hasReserve = false
        if case .change(let number, let change) = effects[1] {
            manager.core.changed(number, .success(try manager.catalog.apply(change)), at: manager.now)
        }
        manager.perform()
        manager.carryOutAll()
        #expect(try answer.result?.get().removed.count == 1)
    }

    /// Any peer may name sessions: each is compared on its own, up to a limit that keeps the wait short.
    @Test func manySessionsThatAreUnknownAreComparedAtOnce() throws {
        let manager = try ScriptedLogManager(files: 0)
        let events = (0..<5_000).map { number in
            RecordingEvent(
                source: "recorder", sequence: 0, session: "s\(number)", date: manager.now.date, change: .status,
                status: "running", step: "")
        }
        manager.core.take([], events, at: manager.now)
        manager.perform()
        var compared = 0
        while !manager.waiting.isEmpty {
            manager.carryOutNext()
            compared += 1
        }
        #expect(compared == 1_000)
        // A comparison of everything finds all others.
        manager.wait(seconds: 5)
        guard case .listSessions? = manager.waiting.first else {
            Issue.record("nothing is compared")
            return
        }
    }
}
