import Files
import FoundationEssentials
import Glibc
import Messages
import Recording
import ServiceKit
import Synchronization
import SystemPackage
import TestSupport
import Testing

@testable import Archiver
@testable import ArchiverCore
@testable import Archives
@testable import Encryption

/// If an archive cannot be made, the session is untouched and no partial archive is left.
@Suite(.timeLimit(.minutes(1)))
struct ArchiveFaultTests {
    /// Expects that no archive is made, and that all files are unchanged.
    @discardableResult
    private func refusal(
        _ session: ArchivedSession, _ choices: ArchiveChoices = ArchiveChoices(), calls: FileCalls = .system
    ) throws -> ArchiveError {
        let before = (try session.contents, try session.archives.names())
        let error = try #require(throws: ArchiveError.self) { try session.archive(choices, calls: calls) }
        #expect(try session.contents == before.0)
        #expect(try session.archives.names() == before.1)
        return error
    }

    private func withSession(_ body: (ArchivedSession) throws -> Void) throws {
        try withTemporaryDirectory { data in
            let session = try ArchivedSession(in: data)
            try session.addLog(from: 0)
            try session.addLog(from: 10)
            try body(session)
        }
    }

    @Test func case64AFailureKeepsTheFilesAndTheOlderArchive() throws {
        try withSession { session in
            try session.finish()
            let older = try session.archive()[0]
            for call in ["write", "syncAll", "rename"] {
                var number = 0
                while (try? session.archive(calls: Self.failing(call, number: number))) == nil {
                    // Only the sync of the directory follows the rename, so the complete new archive, with the same bytes, is in
                    // place.
                    #expect(try session.archives.names() == ["s1.zip"])
                    let (bytes, sha256) = try FinishedFile.measure(session.archives.path.appending("s1.zip"))
                    #expect((bytes, sha256) == (older.bytes, older.sha256))
                    number += 1
                }
                #expect(number > 0, "\(call)")
            }
        }
    }

    /// File calls that fail once, at the given call of this name.
    private static func failing(_ name: String, number: Int) -> FileCalls {
        let count = Counter()
        @Sendable func check(_ call: String) throws(Errno) {
            if call == name, count.next() == number { throw .noSpace }
        }
        let system = FileCalls.system
        var calls = system
        calls.write = { descriptor, bytes, offset throws(Errno) in
            try check("write")
            return try system.write(descriptor, bytes, offset)
        }
        calls.syncAll = { descriptor throws(Errno) in
            try check("syncAll")
            try system.syncAll(descriptor)
        }
        calls.rename = { old, new throws(Errno) in
            try check("rename")
            try system.rename(old, new)
        }
        return calls
    }

    @Test func aFullDiskIsSaid() throws {
        try withSession { session in
            try session.finish()
            let error = try refusal(session, calls: Self.failing("write", number: 0))
            #expect(error.code == .noSpace)
            #expect(error.exitStatus == .inputOutput)
            #expect(error.message.contains("free some space"))
        }
    }

    @Test func aSessionThatGoesOnIsNotArchived() throws {
        try withSession { session in
            try session.finish(status: .running, hasChecksums: false)
            #expect(try refusal(session).code == .notOver)
        }
        try withSession { session in
            try session.finish(hasChecksums: false)
            #expect(try refusal(session).code == .notOver)
        }
        try withSession { session in
            try session.finish(status: .failed, hasChecksums: false)
            #expect(try session.archive()[0].metadata.status == "failed")
        }
    }

    @Test func case64AFileOfAReservedNameIsRefused() throws {
        try withSession { session in
            try session.add("metadata.json", "{}".utf8)
            try session.finish()
            let error = try refusal(session)
            #expect(error.code == .invalidParameter)
            #expect(error.file == "metadata.json")
        }
    }

    @Test func whatIsNotWhatWasRecordedIsRefusedOrLeftOut() throws {
        try withSession { session in
            try session.finish()
            let name = try #require(session.record.logs.first?.files.first?.name)
            try session.add(name, "[\n]".utf8)
            let error = try refusal(session)
            #expect(error.code == .changed)
            #expect(error.file == name)
            var choices = ArchiveChoices()
            choices.continuesOnFailure = true
            let metadata = try session.archive(choices)[0].metadata
            #expect(metadata.leftOut == [ArchiveMetadata.LeftOut(filename: name, reason: "changed")])
            #expect(metadata.hasLoss)
            #expect(try !ExtractedArchive("s1.zip", of: session).names.contains(name))
        }
    }

    /// Each bad file by itself would cost another archive.
    @Test func manyBadFilesCostOneMoreArchive() throws {
        try withTemporaryDirectory { data in
            let session = try ArchivedSession(in: data)
            for index in 0..<30 { try session.addLog(from: 10 * index) }
            // Precedes the stream files, and is so large that every archive is written to.
            var random = SplitMix(seed: 1)
            try session.add("video", (0..<1_200_000).map { _ in UInt8.random(in: 0...255, using: &random) })
            try session.finish()
            let files = try #require(session.record.logs.first?.files.map(\.name))
            for name in files.prefix(20) { try session.add(name, "[\n]".utf8) }
            for name in files.suffix(5) { try FileManager.default.removeItem(atPath: session.path(name).string) }
            let archives = Counter()
            let system = FileCalls.system
            var calls = system
            calls.write = { descriptor, bytes, offset throws(Errno) in
                if offset == 0 { _ = archives.next() }
                return try system.write(descriptor, bytes, offset)
            }
            var choices = ArchiveChoices()
            choices.continuesOnFailure = true
            let made = try session.archive(choices, calls: calls)
            let leftOut = try #require(made[0].metadata.leftOut)
            #expect(leftOut.count(where: { $0.reason == "changed" }) == 20)
            #expect(leftOut.count(where: { $0.reason == "notFound" }) == 5)
            #expect(archives.value == 2)
        }
    }

    /// A recorder that is killed between an annotation and its hash leaves a hash of the earlier lines only. Like `verify`, an
    /// archiver accepts the later lines.
    @Test func annotationsThatCameAfterTheirHashAreArchived() throws {
        try withSession { session in
            try session.finish()
            let name = SessionDirectory.annotationsName
            for number in 1...3 {
                let sums = try session.directory.directory.read(SessionDirectory.checksumsName)
                try session.directory.add(
                    Annotation(
                        number: number, label: "fall", from: session.record.startDate, date: session.record.startDate))
                // Only the second annotation updates the hash.
                if number != 2 { try session.directory.directory.replace(SessionDirectory.checksumsName, with: sums) }
                #expect(try session.archive().map(\.lastAnnotation) == [number])
                let archived = try ExtractedArchive("s1.zip", of: session)
                #expect(try archived.bytes(name) == session.contents[name])
                try Directory.removeTree(archived.path)
            }
            // Lines that differ from the hashed ones are refused.
            try session.add(name, Data(contentsOf: URL(filePath: session.path(name).string)).dropFirst(2))
            #expect(try refusal(session).file == name)
        }
    }

    /// A file that changes while it is read may be complete at the next try.
    @Test func aChangedFileIsLookedAtAgain() {
        let failure = ArchiveFailure(ArchiveError(.changed, "It changed."))
        #expect(failure.retry == .backingOff)
        #expect(ArchiveFailure(ArchiveError(.notFound, "It is gone.")).retry == .never)
    }

    /// The file is larger than what is read before the first write, so that it changes during the read.
    @Test func aFileThatChangesWhileItIsReadIsRefused() throws {
        try withSession { session in
            var random = SplitMix(seed: 3)
            try session.add("noise", (0..<3_000_000).map { _ in UInt8.random(in: 0...255, using: &random) })
            try session.finish()
            let path = session.path("noise").string
            for change in [
                { @Sendable in truncate(path, 2_999_999) == 0 },
                { @Sendable in truncate(path, 3_000_001) == 0 },
                { @Sendable in utimes(path, nil) == 0 },
            ] {
                let isDone = Counter()
                var calls = FileCalls.system
                calls.write = { descriptor, bytes, offset throws(Errno) in
                    if isDone.next() == 0, !change() { throw .ioError }
                    return try FileCalls.system.write(descriptor, bytes, offset)
                }
                let error = try #require(throws: ArchiveError.self) { try session.archive(calls: calls) }
                #expect(error.code == .changed)
                #expect(error.file == "noise")
                #expect(try session.archives.names() == [])
                truncate(path, 3_000_000)
            }
        }
    }

    @Test func aFileThatCanNotBeReadIsRefusedOrLeftOut() throws {
        try withSession { session in
            try session.finish()
            // Not even root can archive a link, a pipe or a directory.
            try FileManager.default.createSymbolicLink(
                atPath: session.path("link").string, withDestinationPath: "session.json")
            mkfifo(session.path("pipe").string, 0o644)
            mkdir(session.path("folder").string, 0o755)
            #expect(try refusal(session).code == .invalidParameter)
            var choices = ArchiveChoices()
            choices.continuesOnFailure = true
            let leftOut = try session.archive(choices)[0].metadata.leftOut
            #expect(leftOut?.map(\.filename) == ["folder", "link", "pipe"])
        }
    }

    @Test func aFileThatIsMissingIsRefusedUnlessItWasRemoved() throws {
        try withSession { session in
            try session.finish()
            let file = try #require(session.record.logs.first?.files.first)
            try FileManager.default.removeItem(atPath: session.path(file.name).string)
            let error = try refusal(session)
            #expect(error.code == .notFound)
            #expect(error.file == file.name)
            try RemovedFile.append(
                [RemovedFile(name: file.name, bytes: file.bytes, reason: "uploaded-only", date: .now)],
                in: session.directory.directory)
            let metadata = try session.archive()[0].metadata
            #expect(metadata.leftOut == [ArchiveMetadata.LeftOut(filename: file.name, reason: "removed")])
            #expect(!metadata.hasLoss)
            #expect(metadata.files.contains { $0.filename == "removed.ndjson" })
        }
    }

    @Test(arguments: ["photo.jpg", SessionDirectory.reportName, SessionDirectory.annotationsName])
    func anyOtherMissingFileIsRefusedOrLeftOut(name: String) throws {
        try withSession { session in
            try session.add("photo.jpg", "photo".utf8)
            try session.finish()
            let date = session.record.startDate
            try session.directory.add(Annotation(number: 1, label: "fall", from: date, date: date))
            try FileManager.default.removeItem(atPath: session.path(name).string)
            let error = try refusal(session)
            #expect(error.code == .notFound)
            #expect(error.file == name)
            var choices = ArchiveChoices()
            choices.continuesOnFailure = true
            let metadata = try session.archive(choices)[0].metadata
            #expect(metadata.leftOut == [ArchiveMetadata.LeftOut(filename: name, reason: "notFound")])
            #expect(metadata.hasLoss)
        }
    }

    @Test func aMissingFileOfTheResultsIsLeftOutOnce() throws {
        try withTemporaryDirectory { data in
            let session = try ArchivedSession(in: data, results: TaskResultsFixture.single)
            try session.add("asyncFile.txt", "async".utf8)
            try session.finish()
            try FileManager.default.removeItem(atPath: session.path("asyncFile.txt").string)
            var choices = ArchiveChoices()
            choices.continuesOnFailure = true
            let leftOut = try session.archive(choices)[0].metadata.leftOut
            #expect(leftOut == [ArchiveMetadata.LeftOut(filename: "asyncFile.txt", reason: "notFound")])
        }
    }

    @Test(arguments: ["../s1/session.json", "/etc/passwd", ".lock", "a/b", ""])
    func aResultsFileLiesInTheSession(path: String) throws {
        try withTemporaryDirectory { data in
            let session = try ArchivedSession(
                in: data,
                results: #"{"stepHistory": [{"identifier": "f", "relativePath": "\#(path)"}]}"#)
            try session.finish()
            #expect(try refusal(session).code == .invalidParameter)
        }
    }

    @Test func namesWithSpacesEmojiAndDotsComeBack() throws {
        try withSession { session in
            let names = ["with space", "🚶‍♀️.txt", "a..b", "..." + "x", "ünïcode.csv", "-rf", "tab\tname"]
            for name in names where !name.hasPrefix(".") { try session.add(name, name.utf8) }
            try session.finish()
            try session.archive()
            let archive = try ExtractedArchive("s1.zip", of: session)
            for name in names where !name.hasPrefix(".") && name != "tab\tname" {
                #expect(try archive.bytes(name) == Data(name.utf8))
            }
            let file = try archive.metadata().files.first { $0.originalName == "tab\tname" }
            #expect(file?.filename == "tab_name")
        }
    }

    @Test func aCancelledTaskStopsIt() async throws {
        try await withTemporaryDirectory { data in
            let session = try ArchivedSession(in: data)
            try session.addLog()
            try session.finish()
            let (directory, archives) = (session.directory, session.archives)
            let archiving = Task { () throws -> [MadeArchive] in
                withUnsafeCurrentTask { $0?.cancel() }
                return try SessionArchiver().archive(directory, to: archives, at: .now)
            }
            let result = await archiving.result
            let error = try #require(throws: ArchiveError.self) { try result.get() }
            #expect(error.code == .stopped)
            #expect(try session.archives.names() == [])
        }
    }
}
