import Encryption
import Files
import FoundationEssentials
import MessageBus
import Messages
import Recording
import ServiceKit
import SystemPackage
import TestSupport
import Testing
import Upload
import ZeroMQ

@testable import ArchiveStorage
@testable import Archives

/// From a finished session to a receipt, with a directory as the receiver.
@Suite(.timeLimit(.minutes(1)))
struct ArchiverServiceTests {
    /// Makes a data directory and a receiving directory.
    private func withDirectories(_ body: (FilePath, FilePath) async throws -> Void) async throws {
        try await withTemporaryDirectory { directory in
            let (data, out) = (directory.appending("data"), directory.appending("out"))
            for path in [data, out] {
                try FileManager.default.createDirectory(atPath: path.string, withIntermediateDirectories: true)
            }
            try await body(data, out)
        }
    }

    private func finished(
        _ name: String = "s1", in data: FilePath, start: String = "2026-11-21T02:55:01.123456Z"
    ) throws -> ArchivedSession {
        let session = try ArchivedSession(name, in: data, start: start)
        try session.addLog(from: 0)
        try session.addLog(from: 10)
        try session.finish()
        return session
    }

    private func names(in path: FilePath) throws -> [String] { try Directory(path).names().sorted() }

    /// The bytes of every file of a directory, by name.
    private static func contents(of directory: Directory) throws -> [String: [UInt8]] {
        try directory.names().reduce(into: [:]) { $0[$1] = try directory.read($1) }
    }

    private static func receipt(_ session: String, in data: FilePath) throws -> ArchiveReceipt {
        try WireCoding.decode(
            ArchiveReceipt.self,
            from: Data(contentsOf: URL(filePath: data.appending("archives/\(session).receipt.json").string)))
    }

    @Test func aSessionThatEndedUnheardIsFoundWhenTheRecorderIsBack() async throws {
        try await withDirectories { data, out in
            let endpoint = try FreePort.endpoint()
            _ = try finished(in: data)
            // Without events, the archiver scans for sessions only at its start and five minutes later.
            let options = ["upload-to": "file://\(out)", "subscribe": endpoint, "rescan-interval": "5m"]
            try await ArchiverUnderTest.run(in: data, manager: LogManagerStandIn(data: data), options: options) {
                archiver in
                try await archiver.wait(for: "s1", .marked)
                _ = try finished("s2", in: data)
                let (recorder, _) = try EventPublisher.listening(
                    on: endpoint, context: Context(), thread: SocketThread(name: "recorder"))
                try await archiver.wait(for: "s2", .marked)
                withExtendedLifetime(recorder) {}
            }
        }
    }

    /// The archive is uploaded, the local encrypted copy is deleted, the receiver's copy matches the receipt, and nothing remains
    /// to be done.
    @Test func case46TheReceiverHasTheArchiveAndThisMachineNoMore() async throws {
        try await withDirectories { data, out in
            let session = try finished(in: data)
            let keys = try await TestKeys(in: out.removingLastComponent()).make("study", kind: "rsa")
            let manager = LogManagerStandIn(data: data)
            let options = ["upload-to": "file://\(out)", "certificate": "\(keys.certificate)", "keep-archives": "0s"]
            try await ArchiverUnderTest.run(in: data, manager: manager, options: options) { archiver in
                try await archiver.wait(for: "s1", .marked)
                try await eventually("the archive's removal") { archiver.changes(of: "s1").last == "removed" }
                #expect(archiver.changes(of: "s1") == ["encrypted", "uploaded", "marked", "removed"])
                #expect(archiver.events.map(\.sequence) == [0, 1, 2, 3])
                try await eventually("health to be well") { archiver.health.reply.status == .ok }
            }
            #expect(try names(in: data.appending("archives")) == ["s1.receipt.json"])
            #expect(try names(in: out) == ["s1.zip.p7m"])
            let receipt = try Self.receipt("s1", in: data)
            let (bytes, sha256) = try FinishedFile.measure(out.appending("s1.zip.p7m"))
            #expect(receipt.archives.map(\.archive.bytes) == [bytes])
            #expect(receipt.archives.map(\.confirmation.sha256) == [sha256])
            let files = try #require(session.record.logs.first?.files.map(\.name))
            #expect(receipt.files.map(\.name) == files)
            #expect(Set(manager.marked.keys) == Set(files.map { session.directory.relativePath(of: $0) }))
            #expect(manager.marked.values.allSatisfy { "\($0)".contains(sha256) })
            // All recorded files are still there.
            #expect(files.allSatisfy { session.directory.isFile($0) })
        }
    }

    /// The predecessor deletes the recording afterwards; here the archiver asks the log manager to, and only with a receipt.
    @Test func case43LogFilesGoAfterTheReceiptWhereTheUserSaysSo() async throws {
        try await withDirectories { data, out in
            let session = try finished(in: data)
            let manager = LogManagerStandIn(data: data)
            let options = ["upload-to": "file://\(out)", "keep-recordings": "0s"]
            try await ArchiverUnderTest.run(in: data, manager: manager, options: options) { archiver in
                try await eventually("the removal") { archiver.changes(of: "s1").last == "removed" }
                #expect(archiver.changes(of: "s1") == ["made", "uploaded", "marked", "removed"])
            }
            #expect(try names(in: data.appending("archives")) == ["s1.receipt.json", "s1.zip"])
            let files = try #require(session.record.logs.first?.files.map(\.name))
            #expect(files.allSatisfy { !session.directory.isFile($0) })
            #expect(session.directory.isFile("session.json"))
            #expect(try Self.receipt("s1", in: data).removed != nil)
        }
    }

    /// A section of the task has its own archive: the parent's archive, then the child's, and one receipt for both.
    @Test func case44AllArchivesOfATaskAreConfirmedBeforeTheReceipt() async throws {
        try await withDirectories { data, out in
            let session = try ArchivedSession(in: data, results: TaskResultsFixture.combined)
            try session.addLog()
            try session.add("asyncFile.txt", "text".utf8)
            try session.finish()
            let options = ["upload-to": "file://\(out)", "separate-section": "all"]
            try await ArchiverUnderTest.run(in: data, manager: LogManagerStandIn(data: data), options: options) {
                archiver in
                try await archiver.wait(for: "s1", .marked)
            }
            let receipt = try Self.receipt("s1", in: data)
            #expect(receipt.archives.count > 1)
            #expect(receipt.archives.first?.archive.name == "s1.zip")
            #expect(try names(in: out) == receipt.archives.map(\.archive.name).sorted())
        }
    }

    @Test func case45BridgesFilesGoWithTheArchive() async throws {
        try await withDirectories { data, out in
            _ = try finished(in: data)
            let options = ["upload-to": "file://\(out)", "bridge-info": "true"]
            try await ArchiverUnderTest.run(in: data, manager: LogManagerStandIn(data: data), options: options) {
                archiver in
                try await archiver.wait(for: "s1", .marked)
            }
            let opened = try OpenedArchive.verify(out.appending("s1.zip"))
            #expect(opened.findings.isEmpty)
            #expect(opened.metadata?.files.contains { $0.filename == "info.json" } == true)
        }
    }

    @Test func case64AFailureKeepsEverythingAndIsSaid() async throws {
        try await withDirectories { data, out in
            let session = try finished(in: data)
            let name = try #require(session.record.logs.first?.files.first?.name)
            let path = session.path(name)
            let original = try Data(contentsOf: URL(filePath: path.string))
            try session.add(name, "[\n]".utf8)
            let directory = session.directory.directory
            let before = try Self.contents(of: directory)
            let options = ["upload-to": "file://\(out)", "keep-archives": "0s", "keep-recordings": "0s"]
            try await ArchiverUnderTest.run(in: data, manager: LogManagerStandIn(data: data), options: options) {
                archiver in
                let status = try await archiver.wait(for: "s1", .failed)
                #expect(status.reason?.contains(name) == true)
                #expect(try Self.contents(of: directory) == before)
                #expect(try Directory(out).names().isEmpty)
                let event = try await eventualValue("the event") { archiver.events.first }
                #expect(event.change == .failed)
                #expect(event.code == "changed")
                try await eventually("health to tell") {
                    archiver.health.reply.reasons.contains { $0.contains("could not be archived") }
                }
                // Once the original bytes are back, the archiver continues on request.
                try original.write(to: URL(filePath: path.string))
                _ = try await archiver.send(ArchiveRetry(session: "s1"))
                try await archiver.wait(for: "s1", .marked)
                try await eventually("health") { !archiver.health.reply.reasons.contains { $0.contains("archived") } }
            }
        }
    }

    @Test func withoutAReceiverTheArchiveStaysAndIsNotMadeAnew() async throws {
        try await withDirectories { data, _ in
            _ = try finished(in: data)
            try await ArchiverUnderTest.run(in: data) { archiver in
                let status = try await archiver.wait(for: "s1", .archived)
                #expect(status.path == "archives/s1.zip")
                try await eventually("health to tell") {
                    archiver.health.reply.reasons.contains { $0.contains("not encrypted") }
                }
            }
            try await ArchiverUnderTest.run(in: data) { archiver in
                let status = try await archiver.send(ArchiveCreate(session: "s1"))
                #expect(status.state == .archived)
                #expect(archiver.events.isEmpty)
            }
            #expect(try names(in: data.appending("archives")) == ["s1.archive.json", "s1.zip"])
        }
    }

    @Test func aReceiverThatIsAwayGetsTheVeryArchiveLater() async throws {
        try await withDirectories { data, out in
            let keys = try await TestKeys(in: out).make("study", kind: "rsa")
            _ = try finished(in: data)
            let place = out.appending("share")
            let options = [
                "upload-to": "file://\(place)", "certificate": "\(keys.certificate)", "upload-attempts": "1",
            ]
            try await ArchiverUnderTest.run(in: data, manager: LogManagerStandIn(data: data), options: options) {
                archiver in
                let status = try await archiver.wait(for: "s1", .failed)
                try await eventually("the events") { archiver.changes(of: "s1") == ["encrypted", "refused"] }
                try FileManager.default.createDirectory(atPath: place.string, withIntermediateDirectories: true)
                _ = try await archiver.send(ArchiveRetry(session: "s1"))
                let later = try await archiver.wait(for: "s1", .marked)
                // The archive was made only once: a second one would have other bytes.
                #expect(later.sha256 == status.sha256)
            }
        }
    }

    @Test func aDifferentObjectAtTheReceiverIsNotReplaced() async throws {
        try await withDirectories { data, out in
            _ = try finished(in: data)
            try Data("another".utf8).write(to: URL(filePath: out.appending("s1.zip").string))
            let options = ["upload-to": "file://\(out)", "keep-archives": "0s"]
            try await ArchiverUnderTest.run(in: data, manager: LogManagerStandIn(data: data), options: options) {
                archiver in
                let status = try await archiver.wait(for: "s1", .failed)
                #expect(status.reason?.contains("not replaced") == true)
                try await eventually("the event") { archiver.events.last?.code == "different" }
            }
            #expect(try names(in: data.appending("archives")) == ["s1.archive.json", "s1.zip"])
        }
    }

    /// Otherwise the archives and the stream files would be removed, though nothing was copied.
    @Test func anArchiverThatUploadsToItsOwnDirectoryRemovesNothing() async throws {
        try await withDirectories { data, _ in
            let session = try finished(in: data)
            let files = try #require(session.record.logs.first?.files.map(\.name))
            let archives = data.appending("archives")
            let options = ["upload-to": "file://\(archives)", "keep-archives": "0s", "keep-recordings": "0s"]
            let manager = LogManagerStandIn(data: data)
            // At the first start, the directory does not exist yet.
            try await ArchiverUnderTest.run(in: data, manager: manager, options: options) { archiver in
                let status = try await archiver.wait(for: "s1", .failed)
                #expect(status.reason?.contains("the archive itself") == true)
                try await eventually("the event") { archiver.changes(of: "s1") == ["made", "refused"] }
            }
            let error = await #expect(throws: ServiceError.self) {
                try await ArchiverUnderTest.run(in: data, options: options) { _ in }
            }
            #expect(error?.status == .badConfiguration)
            #expect(try names(in: archives) == ["s1.archive.json", "s1.zip"])
            #expect(files.allSatisfy { session.directory.isFile($0) })
            #expect(manager.marked.isEmpty)
        }
    }

    /// An archive made by hand has no record.
    @Test func anArchiveWithTheOnlyCopyOfARemovedFileIsNotReplaced() async throws {
        try await withDirectories { data, out in
            let session = try finished(in: data)
            try session.archive()
            try session.removeFile()
            let archives = session.archives
            let bytes = try archives.read("s1.zip")
            let options = ["upload-to": "file://\(out)"]
            try await ArchiverUnderTest.run(in: data, manager: LogManagerStandIn(data: data), options: options) {
                archiver in
                let status = try await archiver.wait(for: "s1", .failed)
                #expect(status.reason?.contains("only copy of 1 removed file") == true)
                #expect(try archives.read("s1.zip") == bytes)
                try FileManager.default.moveItem(
                    atPath: archives.path.appending("s1.zip").string, toPath: out.appending("kept.zip").string)
                _ = try await archiver.send(ArchiveRetry(session: "s1"))
                try await archiver.wait(for: "s1", .marked)
            }
            #expect(try names(in: out) == ["kept.zip", "s1.zip"])
        }
    }

    /// The record lists the files in the archive: those that were removed before are not among them.
    @Test func anArchiveWhoseFilesAllExistIsReplaced() throws {
        try withTemporaryDirectory { data in
            let session = try finished(in: data)
            let (folder, archiver) = (ArchiveDirectory(data), SessionArchiver())
            let (directory, archives) = (session.directory, session.archives)
            try session.removeFile()
            let logs = session.record.logs.map(\.name)
            let made = try session.archive()
            try folder.write(ArchiveRecord(session.record.session, made: made, logs: logs, date: .now))
            let again = try archiver.archive(
                directory, to: archives, at: .now, mayReplace: { folder.mayReplaceArchives(of: directory) })
            #expect(again == made)
            try session.removeFile()
            #expect(throws: ArchiveError.self) {
                try archiver.archive(
                    directory, to: archives, at: .now, mayReplace: { folder.mayReplaceArchives(of: directory) })
            }
        }
    }

    /// In the order in which `recorder fill` advises it.
    @Test func aFilledSessionIsUploadedAgainAfterItsReceiptIsMovedAway() async throws {
        try await withDirectories { data, out in
            let options = ["upload-to": "file://\(out)"]
            try await ArchiverUnderTest.run(in: data, manager: LogManagerStandIn(data: data), options: options) {
                archiver in
                let session = try finished(in: data)
                try await archiver.wait(for: "s1", .marked)
                let receipt = data.appending("archives/s1.receipt.json")
                try FileManager.default.moveItem(
                    atPath: out.appending("s1.zip").string, toPath: out.appending("old.zip").string)
                try FileManager.default.moveItem(atPath: receipt.string, toPath: out.appending("old").string)
                try session.addLog(from: 20)
                try session.finish()
                _ = try await archiver.send(ArchiveCreate(session: "s1"))
                try await archiver.wait(for: "s1", .marked)
            }
            #expect(try Self.receipt("s1", in: data).files.count == 3)
            #expect(try names(in: out) == ["old", "old.zip", "s1.zip"])
        }
    }

    private static let later = "2026-11-22T08:00:00.000000Z"

    /// Removes a session without the ledger that `recorder discard` keeps.
    private func remove(_ session: SessionDirectory) throws { try Directory.removeTree(session.directory.path) }

    @Test func aSessionWithTheNameOfOneThatWasUploadedAndRemovedIsUploadedToo() async throws {
        try await withDirectories { data, out in
            let session = try finished(in: data)
            let (old, start) = (session.directory, session.record.startDate)
            let options = ["upload-to": "file://\(out)", "keep-archives": "0s"]
            try await ArchiverUnderTest.run(in: data, manager: LogManagerStandIn(data: data), options: options) {
                archiver in
                try await eventually("the archive's removal") { archiver.changes(of: "s1").last == "removed" }
                let receipt = try Self.receipt("s1", in: data)
                #expect(receipt.startDate == start)
                try remove(old)
                // A receiver never replaces an archive.
                try FileManager.default.moveItem(
                    atPath: out.appending("s1.zip").string, toPath: out.appending("old.zip").string)
                let newStart = try finished(in: data, start: Self.later).record.startDate
                try await archiver.announceEnd(of: "s1") {
                    let changes = ["made", "uploaded", "marked", "removed"]
                    return archiver.changes(of: "s1") == changes + changes
                }
                let status = try await archiver.status("s1")
                #expect(status.state == .marked)
                #expect(try Self.receipt("s1", in: data).startDate == newStart)
                #expect(try OpenedArchive.verify(out.appending("s1.zip")).metadata?.startDate == newStart)
            }
        }
    }

    @Test func anArchiveOfAnEarlierSessionIsNotReplaced() async throws {
        try await withDirectories { data, _ in
            let old = try finished(in: data).directory
            let archive = data.appending("archives/s1.zip")
            try await ArchiverUnderTest.run(in: data) { archiver in try await archiver.wait(for: "s1", .archived) }
            let bytes = try Data(contentsOf: URL(filePath: archive.string))
            try remove(old)
            _ = try finished(in: data, start: Self.later)
            try await ArchiverUnderTest.run(in: data) { archiver in
                let status = try await archiver.wait(for: "s1", .failed)
                #expect(status.reason?.contains("earlier session") == true)
                #expect(try Data(contentsOf: URL(filePath: archive.string)) == bytes)
                try FileManager.default.moveItem(atPath: archive.string, toPath: data.appending("old.zip").string)
                _ = try await archiver.send(ArchiveRetry(session: "s1"))
                try await archiver.wait(for: "s1", .archived)
                try await eventually("the events") { archiver.changes(of: "s1") == ["failed", "made"] }
            }
        }
    }

    /// The archives of an earlier session are delivered first: they are the only copy of its recording.
    @Test func anArchiveThatWaitsIsUploadedAlsoIfAnotherSessionHasItsName() async throws {
        try await withDirectories { data, out in
            let session = try finished(in: data)
            let start = session.record.startDate
            try await ArchiverUnderTest.run(in: data) { archiver in try await archiver.wait(for: "s1", .archived) }
            try remove(session.directory)
            _ = try finished(in: data, start: Self.later)
            let options = ["upload-to": "file://\(out)", "keep-archives": "0s"]
            try await ArchiverUnderTest.run(in: data, manager: LogManagerStandIn(data: data), options: options) {
                archiver in
                // The new archive must not be mistaken for the one at the receiver.
                let status = try await archiver.wait(for: "s1", .failed)
                #expect(status.reason?.contains("not replaced") == true)
                try await eventually("the events") {
                    archiver.changes(of: "s1") == ["uploaded", "removed", "made", "refused"]
                }
                #expect(try OpenedArchive.verify(out.appending("s1.zip")).metadata?.startDate == start)
            }
        }
    }

    /// Its archive has the name of the session's own, and would replace it.
    @Test func aCopyOfASessionIsNotArchived() async throws {
        try await withDirectories { data, out in
            try await ArchiverUnderTest.run(in: data) { archiver in
                let session = try finished(in: data)
                try await archiver.wait(for: "s1", .archived)
                let archive = try session.archives.read("s1.zip")
                let (copy, place) = (out.appending("copy"), data.appending("recordings/s1-recovered"))
                try FileManager.default.copyItem(
                    atPath: session.directory.directory.path.string, toPath: copy.string)
                try Data("a note".utf8).write(to: URL(filePath: copy.appending("note.txt").string))
                // At once, so that the archiver does not find half a copy.
                try FileManager.default.moveItem(atPath: copy.string, toPath: place.string)
                let status = try await archiver.wait(for: "s1-recovered", .failed)
                #expect(status.reason?.contains("record of session s1,") == true)
                #expect(try session.archives.read("s1.zip") == archive)
                try FileManager.default.removeItem(atPath: place.string)
                try await eventually("health") {
                    !archiver.health.reply.reasons.contains { $0.contains("s1-recovered") }
                }
            }
            #expect(try names(in: data.appending("archives")) == ["s1.archive.json", "s1.zip"])
        }
    }

    @Test func aReceiptOfAnOlderArchiverIsBelievedIfTheSessionStartedBefore() throws {
        try withTemporaryDirectory { data in
            let session = try finished(in: data)
            let folder = ArchiveDirectory(data)
            try folder.directory.create()
            var record = ArchiveRecord(session.record.session, made: try session.archive(), logs: [], date: .now)
            record.startDate = nil
            for (seconds, isOwn) in [(-1.0, false), (0, true), (1, true)] {
                var receipt = ArchiveReceipt(record, [])
                receipt.date = WallTime(seconds: session.record.startDate.seconds + seconds)
                try folder.write(receipt)
                let view = try folder.view(of: session.record.session, at: .now)
                #expect((view.receipt != nil) == isOwn)
                #expect(view.record == nil)
                #expect(view.isOver)
            }
        }
    }

    /// The name of a discarded session can be used again.
    @Test func archivesOfALaterSessionThatWasNotDiscardedStay() throws {
        try withTemporaryDirectory { data in
            let folder = ArchiveDirectory(data)
            func archived(_ session: ArchivedSession) throws -> ArchiveRecord {
                let made = ArchiveRecord(session.record.session, made: try session.archive(), logs: [], date: .now)
                try folder.write(made)
                try remove(session.directory)
                return made
            }
            let hour: Int64 = 3_600_000_000_000
            let first = try finished(in: data)
            let old = try archived(first)
            let name = old.session
            try DiscardedSession(first.record, uploaded: nil, reason: .forced, date: WallTime.now.adding(-hour))
                .append(in: data)
            #expect(try folder.discarded() == [name])
            #expect(try folder.discard(name) == ["s1.zip"])
            // The later session is removed without a discard.
            let second = try finished(in: data, start: Self.later)
            _ = try archived(second)
            #expect(try folder.discarded().isEmpty)
            #expect(try folder.view(of: name, at: .now).archiveExists)
            // Without a note, the date of the archive decides.
            try Directory.removeFile(folder.directory.path.appending("s1.archive.json"))
            #expect(try folder.discarded().isEmpty)
            try DiscardedSession(second.record, uploaded: nil, reason: .forced, date: WallTime.now.adding(hour))
                .append(in: data)
            #expect(try folder.discarded() == [name])
            // Files of the session that was discarded first are removed as well.
            try folder.write(old)
            #expect(try folder.discarded() == [name])
        }
    }

    /// The session's directory has the only copy of the file.
    @Test func aSessionWithAFileThatWasLeftOutDoesNotCountAsUploaded() throws {
        try withTemporaryDirectory { data in
            let session = try finished(in: data)
            let folder = ArchiveDirectory(data)
            try FileManager.default.createSymbolicLink(
                atPath: session.path("link").string, withDestinationPath: "session.json")
            var choices = ArchiveChoices()
            choices.continuesOnFailure = true
            let record = ArchiveRecord(
                session.record.session, made: try session.archive(choices), logs: [LogName("phone_gyro")], date: .now)
            var receipt = ArchivePolicyTests.receipt(record)
            let disposal = SessionDisposal(in: data)
            for isWhole in [false, true] {
                if isWhole { receipt.leftOut = nil }
                try folder.write(receipt)
                let leftOut: [String] = isWhole ? [] : ["link"]
                let stored = try Self.receipt("s1", in: data)
                #expect(stored.leftOut?.map(\.filename) == (isWhole ? nil : leftOut))
                #expect(try folder.view(of: record.session, at: .now).leftOut == leftOut)
                let view = try disposal.view(record.session, PersonalName(of: "s1"))
                #expect(view.uploaded != nil)
                #expect(view.unarchived == leftOut)
                let expired = try disposal.uploaded(before: receipt.date.adding(1), shard: nil, limit: 1)
                #expect(expired.isEmpty != isWhole)
                let archive = try #require(receipt.archives.first)
                let removed = RemovedFile(
                    name: "a", bytes: 1, reason: "removeUploaded", date: .now, uploaded: .now,
                    receipt: receipt.mark(for: archive))
                #expect(removed.hasUnarchived == !isWhole)
            }
        }
    }

    @Test func aLogManagerThatIsAwayIsToldLater() async throws {
        try await withDirectories { data, out in
            let session = try finished(in: data)
            let options = ["upload-to": "file://\(out)", "keep-archives": "0s", "keep-recordings": "0s"]
            try await ArchiverUnderTest.run(in: data, options: options) { archiver in
                try await archiver.wait(for: "s1", .uploaded)
            }
            // No file was removed before the marks.
            #expect(try names(in: data.appending("archives")) == ["s1.receipt.json", "s1.zip"])
            let manager = LogManagerStandIn(data: data)
            try await ArchiverUnderTest.run(in: data, manager: manager, options: options) { archiver in
                try await eventually("both removals") {
                    archiver.changes(of: "s1") == ["marked", "removed", "removed"]
                }
            }
            #expect(manager.marked.count == session.record.logs.first?.files.count)
        }
    }

    @Test func aFileThatIsNotMarkedIsNotRemoved() async throws {
        try await withDirectories { data, out in
            let session = try finished(in: data)
            let name = try #require(session.record.logs.first?.files.first?.name)
            let path = session.directory.relativePath(of: name)
            let manager = LogManagerStandIn(data: data)
            manager.refuse(path, "it was changed")
            let options = ["upload-to": "file://\(out)", "keep-recordings": "0s"]
            try await ArchiverUnderTest.run(in: data, manager: manager, options: options) { archiver in
                try await eventually("the refusal") { archiver.changes(of: "s1").last == "refused" }
                let status = try await archiver.status("s1")
                #expect(status.state == .uploaded)
                #expect(status.reason?.contains("it was changed") == true)
                manager.refuse(path, nil)
                _ = try await archiver.send(ArchiveRetry(session: "s1"))
                try await eventually("the removal") { archiver.changes(of: "s1").last == "removed" }
            }
        }
    }

    /// The catalog may have been lost.
    @Test func filesWhoseMarksAreLostAreMarkedAgainOnRequest() async throws {
        try await withDirectories { data, out in
            let session = try finished(in: data)
            let files = try #require(session.record.logs.first?.files.map(\.name))
            let directory = session.directory
            let manager = LogManagerStandIn(data: data)
            let options = ["upload-to": "file://\(out)"]
            try await ArchiverUnderTest.run(in: data, manager: manager, options: options) { archiver in
                try await archiver.wait(for: "s1", .marked)
                manager.forgetMarks()
                // A retry does nothing while the archiver still has its claim.
                try await eventually("the marks") {
                    _ = try await archiver.send(ArchiveRetry(session: "s1"))
                    return Set(manager.marked.keys) == Set(files.map { directory.relativePath(of: $0) })
                }
                try await archiver.wait(for: "s1", .marked)
            }
            let later = options.merging(["keep-recordings": "0s"]) { first, _ in first }
            try await ArchiverUnderTest.run(in: data, manager: manager, options: later) { archiver in
                try await eventually("the removal") { archiver.changes(of: "s1") == ["removed"] }
                #expect(files.allSatisfy { !directory.isFile($0) })
            }
        }
    }

    /// log-manager refuses the marks, because it finds no files.
    @Test func recordingsThatAreNotMountedCountAsNeitherMarkedNorRemoved() async throws {
        try await withDirectories { data, out in
            let session = try finished(in: data)
            let files = try #require(session.record.logs.first?.files.map(\.name))
            let paths = files.map { session.directory.relativePath(of: $0) }
            let options = ["upload-to": "file://\(out)"]
            try await ArchiverUnderTest.run(in: data, options: options) { archiver in
                try await archiver.wait(for: "s1", .uploaded)
            }
            let (recordings, disk) = (data.appending("recordings"), out.removingLastComponent().appending("disk"))
            try FileManager.default.moveItem(atPath: recordings.string, toPath: disk.string)
            // A recorder began in the empty directory.
            try Directory(recordings).create()
            try Directory(recordings).replace(".lock", with: [])
            let manager = LogManagerStandIn(data: data)
            for path in paths { manager.refuse(path, "it is not there") }
            try await ArchiverUnderTest.run(in: data, manager: manager, options: options) { archiver in
                try await eventually("the refusal") { archiver.changes(of: "s1") == ["refused"] }
                #expect(archiver.events.last?.reason?.contains("no recordings") == true)
                #expect(try Self.receipt("s1", in: data).marked == nil)
                try FileManager.default.removeItem(atPath: recordings.string)
                try FileManager.default.moveItem(atPath: disk.string, toPath: recordings.string)
                for path in paths { manager.refuse(path, nil) }
                _ = try await archiver.send(ArchiveRetry(session: "s1"))
                try await archiver.wait(for: "s1", .marked)
            }
            #expect(Set(manager.marked.keys) == Set(paths))
        }
    }

    @Test func aFileThatWasNotRemovedIsRemovedLater() async throws {
        try await withDirectories { data, out in
            let session = try finished(in: data)
            let files = try #require(session.record.logs.first?.files)
            let directory = session.directory
            let path = directory.relativePath(of: files[0].name)
            let manager = LogManagerStandIn(data: data)
            manager.refuseRemoval(path, "there was no time for it; repeat the request")
            let options = ["upload-to": "file://\(out)", "keep-recordings": "0s"]
            try await ArchiverUnderTest.run(in: data, manager: manager, options: options) { archiver in
                try await eventually("the refusal") {
                    archiver.changes(of: "s1") == ["made", "uploaded", "marked", "removed", "refused"]
                }
                let status = try await archiver.status("s1")
                #expect(status.reason?.contains("no time for it") == true)
                try await eventually("health to tell") {
                    archiver.health.reply.reasons.contains { $0.contains("did not remove 1 file") }
                }
                #expect(try Self.receipt("s1", in: data).removed == nil)
                #expect(files.map { directory.isFile($0.name) } == [true, false])
                manager.refuseRemoval(path, nil)
                _ = try await archiver.send(ArchiveRetry(session: "s1"))
                try await eventually("the removal") { archiver.changes(of: "s1").last == "removed" }
                #expect(archiver.events.last?.bytes == files[0].bytes)
                try await eventually("health") { !archiver.health.reply.reasons.contains { $0.contains("cleaned up") } }
            }
            #expect(try Self.receipt("s1", in: data).removed != nil)
        }
    }

    @Test func anArchiveFromBeforeTheCertificateIsNotUploaded() async throws {
        try await withDirectories { data, out in
            _ = try finished(in: data)
            try await ArchiverUnderTest.run(in: data) { try await $0.wait(for: "s1", .archived) }
            let keys = try await TestKeys(in: data).make("study", kind: "rsa")
            let options = ["upload-to": "file://\(out)", "certificate": "\(keys.certificate)"]
            try await ArchiverUnderTest.run(in: data, manager: LogManagerStandIn(data: data), options: options) {
                archiver in
                let status = try await archiver.wait(for: "s1", .failed)
                #expect(status.reason?.contains("not encrypted") == true)
                #expect(status.reason?.contains("Move it away") == true)
                try FileManager.default.removeItem(atPath: data.appending("archives/s1.zip").string)
                _ = try await archiver.send(ArchiveRetry(session: "s1"))
                try await archiver.wait(for: "s1", .marked)
            }
            #expect(try names(in: out) == ["s1.zip.p7m"])
        }
    }

    @Test func anExpiredCertificateStopsNoUpload() async throws {
        try await withDirectories { data, out in
            _ = try finished(in: data)
            let keys = TestKeys(in: data)
            let valid = try await keys.make("study", kind: "rsa").certificate
            try await ArchiverUnderTest.run(in: data, options: ["certificate": "\(valid)"]) {
                try await $0.wait(for: "s1", .archived)
            }
            _ = try finished("s2", in: data)
            let expired = try keys.writeExpired()
            let options = ["upload-to": "file://\(out)", "certificate": "\(expired)"]
            try await ArchiverUnderTest.run(in: data, manager: LogManagerStandIn(data: data), options: options) {
                archiver in
                #expect(archiver.health.reply.reasons.contains { $0.hasPrefix("no archive can be made") })
                try await archiver.wait(for: "s1", .marked)
                let status = try await archiver.wait(for: "s2", .failed)
                #expect(status.reason?.contains("expired") == true)
            }
            #expect(try names(in: out) == ["s1.zip.p7m"])
        }
    }

    @Test func severalArchiversDivideTheWork() async throws {
        try await withDirectories { data, out in
            let names = (0..<12).map { "s\($0)" }
            for name in names { _ = try finished(name, in: data) }
            let manager = LogManagerStandIn(data: data)
            let options = ["upload-to": "file://\(out)"]
            try await ArchiverUnderTest.run(in: data, manager: manager, options: options) { one in
                try await ArchiverUnderTest.run(in: data, manager: manager, options: options) { two in
                    for name in names { try await two.wait(for: name, .marked) }
                    for kind in ["made", "uploaded", "marked"] {
                        try await eventually("all \(kind)") {
                            let all = (one.events + two.events).filter { $0.change.rawValue == kind }
                            return all.map(\.session).sorted() == names.sorted()
                        }
                    }
                }
            }
            #expect(try self.names(in: data.appending("archives")).allSatisfy { !$0.hasPrefix(".") })
        }
    }

    @Test func aSessionThatEndsIsArchivedWithoutBeingAskedFor() async throws {
        try await withDirectories { data, _ in
            try await ArchiverUnderTest.run(in: data, options: ["rescan-interval": "1h"]) { archiver in
                let session = try ArchivedSession("s1", in: data)
                try session.addLog()
                try session.finish(status: .running, hasChecksums: false)
                #expect(try await archiver.status("s1").state == .recording)
                #expect(try await archiver.refusal(ArchiveCreate(session: "s1"))?.data?.reason == "notOver")
                try session.finish()
                try await archiver.announceEnd(of: "s1") { try await archiver.status("s1").state == .archived }
            }
        }
    }

    /// The recorder may still be writing the session's files.
    @Test func aSessionThatFailedWithoutAnEndIsLeftAloneForAWhile() async throws {
        try await withDirectories { data, _ in
            let session = try ArchivedSession("s1", in: data)
            try session.addLog()
            try session.finish(status: .failed, hasChecksums: false)
            let folder = ArchiveDirectory(data)
            #expect(try !folder.view(of: session.record.session, at: .now).isOver)
            let before = Date(timeIntervalSinceNow: -700)
            for path in [session.path("session.json"), session.directory.directory.path] {
                try FileManager.default.setAttributes([.modificationDate: before], ofItemAtPath: path.string)
            }
            #expect(try folder.view(of: session.record.session, at: .now).isOver)
            try session.directory.writeChecksums()
            #expect(try folder.view(of: session.record.session, at: .now).isOver)
        }
    }

    /// A recorder may finish the session later, with samples that its archives lack.
    @Test func theArchiveOfAnUnfinishedSessionIsMadeAgainOnceItIsFinished() throws {
        try withTemporaryDirectory { data in
            let session = try ArchivedSession("s1", in: data)
            try session.addLog(from: 0)
            try session.finish(status: .failed, hasChecksums: false)
            let (folder, name) = (ArchiveDirectory(data), session.record.session)
            let made = try session.archive()
            #expect(made[0].metadata.leftOut == [ArchiveMetadata.LeftOut.unfinished])
            let record = ArchiveRecord(name, made: made, logs: [], date: .now)
            try folder.write(record)
            #expect(try folder.view(of: name, at: .now).record != nil)
            try folder.write(ArchivePolicyTests.receipt(record))
            #expect(try folder.view(of: name, at: .now).receipt != nil)
            let disposal = SessionDisposal(in: data)
            #expect(try disposal.view(name, PersonalName(of: "s1")).unarchived == [SessionDirectory.checksumsName])
            try session.addLog(from: 10)
            try session.finish(status: .failed)
            let view = try folder.view(of: name, at: .now)
            #expect(view.isOver)
            #expect(view.receipt == nil && view.record == nil && view.earlier == nil)
            // The record of the new archive is beside the old receipt.
            let again = ArchiveRecord(name, made: try session.archive(), logs: [], date: .now)
            try folder.write(again)
            #expect(try folder.view(of: name, at: .now).record?.archives == again.archives)
            try folder.write(ArchivePolicyTests.receipt(again))
            #expect(try folder.view(of: name, at: .now).receipt?.leftOut == nil)
            #expect(try folder.view(of: name, at: .now).archiveExists)
            #expect(try disposal.view(name, PersonalName(of: "s1")).unarchived.isEmpty)
        }
    }

    /// It would be made again, and the disk would need room for both.
    @Test func anArchiveIsRemovedIfThereIsNoRoomForItsRecord() throws {
        try withTemporaryDirectory { data in
            let session = try finished(in: data)
            let record = ArchiveRecord(session.record.session, made: try session.archive(), logs: [], date: .now)
            var calls = FileCalls.system
            calls.write = { _, _, _ throws(Errno) in throw .noSpace }
            #expect(throws: RecordingError.self) { try ArchiveDirectory(data).write(record, calls: calls) }
            #expect(try names(in: data.appending("archives")).isEmpty)
        }
    }

    @Test func requestsThatMakeNoSenseAreRefused() async throws {
        try await withDirectories { data, _ in
            for name in ["a", "b", "c"] { _ = try finished(name, in: data) }
            try await ArchiverUnderTest.run(in: data) { archiver in
                for name in ["a", "b", "c"] { try await archiver.wait(for: name, .archived) }
                let unknown = try await archiver.refusal(ArchiveRetry(session: "d"))
                #expect(unknown?.data?.reason == "unknownSession")
                let invalid = try await archiver.refusal(ArchiveCreate(session: "../x"))
                #expect(invalid?.data?.reason == "invalidParameter")
                let limit = try await archiver.refusal(ArchiveList(limit: 0))
                #expect(limit?.data?.reason == "invalidParameter")
                let first = try await archiver.send(ArchiveList(limit: 2))
                #expect(first.archives.map(\.session) == ["a", "b"])
                #expect(first.more == true)
                let rest = try await archiver.send(ArchiveList(after: "b", limit: 2))
                #expect(rest.archives.map(\.session) == ["c"])
                #expect(rest.more == nil)
            }
        }
    }

    /// Every state that a kill leaves between two steps.
    @Test func everyStateThatAKillLeavesGoesOn() async throws {
        try await withDirectories { data, out in
            let folder = ArchiveDirectory(data)
            let options = ["upload-to": "file://\(out)"]
            // The archive has its name, but no record describes it.
            let first = try finished("first", in: data)
            try first.archive()
            // Both the receipt and the record exist.
            let second = try finished("second", in: data)
            let made = try second.archive()
            let record = ArchiveRecord(second.record.session, made: made, logs: [], date: .now)
            try folder.write(record)
            try folder.write(ArchivePolicyTests.receipt(record))
            // A claim and an incomplete archive exist.
            _ = try finished("third", in: data)
            try Data().write(to: URL(filePath: data.appending("archives/.third.claim").string))
            try Data("half".utf8).write(to: URL(filePath: data.appending("archives/.third.zip.new").string))
            // The receiver has the archive, but there is no receipt.
            let fourth = try finished("fourth", in: data)
            let archive = try fourth.archive()
            try folder.write(ArchiveRecord(fourth.record.session, made: archive, logs: [], date: .now))
            try FileManager.default.copyItem(
                atPath: data.appending("archives/fourth.zip").string, toPath: out.appending("fourth.zip").string)
            try await ArchiverUnderTest.run(in: data, manager: LogManagerStandIn(data: data), options: options) {
                archiver in
                for name in ["first", "second", "third", "fourth"] { try await archiver.wait(for: name, .marked) }
                try await eventually("the events") {
                    archiver.changes(of: "second") == ["marked"]
                        && archiver.changes(of: "fourth") == ["uploaded", "marked"]
                }
            }
            #expect(
                try names(in: data.appending("archives"))
                    == ["first", "fourth", "second", "third"].flatMap { ["\($0).receipt.json", "\($0).zip"] })
            #expect(try names(in: out) == ["first.zip", "fourth.zip", "third.zip"])
            #expect(try Self.receipt("fourth", in: data).archives.map(\.confirmation.wasThere) == [true])
        }
    }

    @Test func aReceiptThatCanNotBeReadIsSaidAndKept() async throws {
        try await withDirectories { data, out in
            _ = try finished(in: data)
            try ArchiveDirectory(data).directory.create()
            try Data("{}".utf8).write(to: URL(filePath: data.appending("archives/s1.receipt.json").string))
            try await ArchiverUnderTest.run(in: data, options: ["upload-to": "file://\(out)"]) { archiver in
                try await eventually("health") {
                    archiver.health.reply.reasons.contains { $0.contains("s1.receipt.json") }
                }
                let list = try await archiver.send(ArchiveList())
                #expect(list.archives.map(\.state) == [.failed])
                #expect(archiver.events.isEmpty)
            }
            #expect(try names(in: out).isEmpty)
        }
    }
}
