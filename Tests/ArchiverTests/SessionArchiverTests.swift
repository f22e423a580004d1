import Encryption
import Files
import FoundationEssentials
import Messages
import Recording
import SessionOverview
import SystemPackage
import TestSupport
import Testing

@testable import Archives

/// The contents of each archive, and of its manifest.
@Suite(.timeLimit(.minutes(1)))
struct SessionArchiverTests {
    /// The predecessors insert three files. Here the session's own files are added, so that a session can be understood without
    /// the programs. The session's directory is removed only when the upload is confirmed.
    @Test func case43ASingleTaskIsOneArchive() throws {
        try withTemporaryDirectory { data in
            let session = try ArchivedSession(in: data, task: "foo", results: TaskResultsFixture.single)
            try session.add("asyncFile.txt", "async".utf8)
            try session.finish()
            let before = try session.contents
            let made = try session.archive()
            #expect(made.map(\.name) == ["s1.zip"])
            let archive = try ExtractedArchive("s1.zip", of: session)
            #expect(
                try archive.names == [
                    "SHA256SUMS", "answers.json", "asyncFile.txt", "metadata.json", "report.json", "session.json",
                    "taskResult.json",
                ])
            guard case .object(let answers) = try archive.json("answers.json") else {
                Issue.record("no answers")
                return
            }
            #expect(answers.count == 10)
            #expect(answers["sectionA_collection_input2"] == .integer(2))
            let metadata = try archive.metadata()
            #expect(metadata == made[0].metadata)
            #expect(metadata.files.map(\.filename).last == "taskResult.json")
            let file = try #require(metadata.files.first { $0.filename == "asyncFile.txt" })
            #expect(file.contentType == "text/plain")
            #expect(file.identifier == "asyncFile")
            #expect(file.stepPath == "foo")
            #expect(file.bytes == 5)
            #expect(metadata.taskRunUUID == "3B1D1B9C-2A3F-4A8E-9A55-0D1C7D3A5E11")
            #expect(metadata.schemaIdentifier == "foo")
            #expect(metadata.schemaRevision == 3)
            #expect(metadata.taskIdentifier == "foo")
            #expect(try session.contents == before)
        }
    }

    @Test func anArchiveHasAPageAboutTheSessionIfWanted() throws {
        try withTemporaryDirectory { data in
            let session = try ArchivedSession(in: data, results: TaskResultsFixture.combined)
            try session.add("asyncFile.txt", "async".utf8)
            try session.addLog()
            try session.finish()
            var choices = ArchiveChoices()
            choices.hasReportPage = true
            choices.separateSections = .all
            let made = try session.archive(choices)
            let archive = try ExtractedArchive("s1.zip", of: session)
            let page = try String(decoding: archive.bytes("report.html"), as: UTF8.self)
            #expect(try page == SessionPage.html(of: session.directory))
            #expect(page.contains("phone/gyro"))
            let file = try #require(made[0].metadata.files.first { $0.filename == "report.html" })
            #expect(file.contentType == "text/html")
            // This file describes the whole session.
            #expect(made.count > 1)
            #expect(made.dropFirst().allSatisfy { !$0.metadata.files.contains { $0.filename == "report.html" } })
        }
    }

    @Test func case44ASectionCanHaveAnArchiveOfItsOwn() throws {
        try withTemporaryDirectory { data in
            let session = try ArchivedSession(in: data, results: TaskResultsFixture.combined)
            try session.add("asyncFile.txt", "async".utf8)
            try session.finish()
            var choices = ArchiveChoices()
            choices.separateSections = .some(["sectionA"])
            let made = try session.archive(choices)
            #expect(made.map(\.name) == ["s1.zip", "s1~sectionA.zip"])
            #expect(made.map(\.section) == [nil, "sectionA"])
            let (main, section) = try (
                ExtractedArchive("s1.zip", of: session), ExtractedArchive("s1~sectionA.zip", of: session)
            )
            #expect(try main.names.contains("asyncFile.txt"))
            #expect(try section.names == ["answers.json", "metadata.json", "taskResult.json"])
            #expect(
                try main.json("answers.json")
                    == .object([
                        "collection_input1": .integer(1), "collection_input2": .integer(2), "only": .integer(3),
                    ]))
            #expect(
                try section.json("answers.json")
                    == .object([
                        "collection_input1": .integer(1), "collection_input2": .integer(5), "only": .integer(6),
                    ]))
            #expect(try section.metadata().taskIdentifier == "sectionA")
        }
    }

    @Test func aSectionsFilesGoWithIt() throws {
        try withTemporaryDirectory { data in
            let session = try ArchivedSession(
                in: data,
                results: """
                    {"stepHistory": [{"identifier": "a.b", "stepHistory": [
                      {"identifier": "photo", "relativePath": "p.jpg"}]}, {"identifier": "a.b", "stepHistory": []}]}
                    """)
            try session.add("p.jpg", [1, 2])
            try session.finish()
            var choices = ArchiveChoices()
            choices.separateSections = .all
            let made = try session.archive(choices)
            #expect(made.map(\.name) == ["s1.zip", "s1~a_b.zip", "s1~a_b-2.zip"])
            #expect(!made[0].metadata.files.contains { $0.filename == "p.jpg" })
            let file = try #require(made[1].metadata.files.first)
            #expect(file.filename == "p.jpg")
            #expect(file.contentType == "image/jpeg")
            #expect(file.stepPath == "Walk/a.b")
        }
    }

    @Test func case46AfterTheBuildThereIsOneFileAndNothingElse() throws {
        try withTemporaryDirectory { data in
            let session = try ArchivedSession(in: data)
            try session.addLog()
            try session.finish()
            let made = try session.archive()
            #expect(try session.archives.names() == ["s1.zip"])
            let (bytes, sha256) = try FinishedFile.measure(session.archives.path.appending("s1.zip"))
            #expect(made[0].bytes == bytes)
            #expect(made[0].sha256 == sha256)
        }
    }

    @Test func anArchiveThatMayHaveTheOnlyCopyOfARemovedFileIsNotReplaced() throws {
        try withTemporaryDirectory { data in
            let session = try ArchivedSession(in: data)
            try session.addLog(from: 0)
            try session.addLog(from: 10)
            try session.finish()
            try session.archive()
            let archive = try session.archives.read("s1.zip")
            try session.removeFile()
            let error = #expect(throws: ArchiveError.self) { try session.archive() }
            #expect(error?.code == .alreadyExists)
            #expect(error?.message.contains("s1.zip may have the only copy of 1 removed file") == true)
            #expect(try session.archives.names() == ["s1.zip"])
            #expect(try session.archives.read("s1.zip") == archive)
            // A receiver may have another archive, without this file.
            let removed = try #require(try session.directory.removedFiles().keys.first)
            for (files, isReplaced) in [("", false), (#"{"name":"\#(removed)"}"#, true)] {
                let receipt = #"{"session":"s1","date":"2026-11-22T10:00:00Z","files":[\#(files)]}"#
                try session.archives.replace("s1.receipt.json", with: Array(receipt.utf8))
                let made = try? session.archive()
                #expect(made?[0].metadata.leftOut?.map(\.reason) == (isReplaced ? ["removed"] : nil))
            }
        }
    }

    /// For example, the archiver was killed before it recorded an archive that lacked the file already.
    @Test func anArchiveWithoutTheRemovedFileIsReplaced() throws {
        try withTemporaryDirectory { data in
            let session = try ArchivedSession(in: data)
            try session.addLog(from: 0)
            try session.addLog(from: 10)
            try session.finish()
            try session.removeFile()
            let made = try session.archive()
            #expect(try session.archive() == made)
        }
    }

    /// Such files are elsewhere, or were never in an archive.
    @Test(arguments: [("removeUploaded", true), (RemovedFile.ring, false)])
    func anArchiveIsReplacedIfItHasNoOnlyCopy(reason: String, isUploaded: Bool) throws {
        try withTemporaryDirectory { data in
            let session = try ArchivedSession(in: data)
            try session.addLog()
            try session.finish()
            try session.archive()
            try session.removeFile(reason: reason, uploaded: isUploaded ? .now : nil)
            #expect(try session.archive()[0].metadata.leftOut?.map(\.reason) == ["removed"])
        }
    }

    @Test func theManifestTellsOfSamplesAndGaps() throws {
        try withTemporaryDirectory { data in
            let session = try ArchivedSession(in: data)
            try session.addLog(from: 0, samples: 3, origin: .replayed)
            try session.addLog(from: 10, samples: 2)
            try session.addLog(from: 20, samples: 1)
            for sequence in [4, 12, 13, 21] { session.addGap(from: sequence) }
            try session.finish()
            let files = try session.archive()[0].metadata.files.filter { $0.samples != nil }
            #expect(files.map(\.samples) == [3, 2, 1])
            #expect(files.map(\.gaps) == [1, 2, 1])
            #expect(files.map(\.origin) == [.replayed, .replayed, .replayed])
            #expect(files.allSatisfy { $0.identifier == "phone_gyro" && $0.stepPath == "Walk/out" })
            #expect(files[0].timestamp == session.record.startDate)
        }
    }

    @Test func theSameSessionGivesTheSameBytes() throws {
        try withTemporaryDirectory { data in
            let session = try ArchivedSession(in: data, results: TaskResultsFixture.combined)
            try session.add("asyncFile.txt", "async".utf8)
            try session.addLog()
            try session.finish()
            let first = try session.archive()
            // The files' metadata in the file system must not change the archive.
            for name in try session.directory.directory.names() {
                let bytes = try Data(contentsOf: URL(filePath: session.path(name).string))
                try FileManager.default.removeItem(atPath: session.path(name).string)
                try bytes.write(to: URL(filePath: session.path(name).string))
            }
            #expect(try session.archive() == first)
        }
    }

    @Test func aSessionWithoutFilesHasAnArchive() throws {
        try withTemporaryDirectory { data in
            let session = try ArchivedSession(in: data, task: "")
            try session.finish()
            let archive = try session.archive()[0]
            let names = archive.metadata.files.map(\.filename)
            #expect(names == ["SHA256SUMS", "report.json", "session.json", "taskResult.json"])
            #expect(archive.metadata.taskIdentifier == "Unknown")
        }
    }

    @Test func locksAndWhatIsBeingWrittenStayOutside() throws {
        try withTemporaryDirectory { data in
            let session = try ArchivedSession(in: data)
            try session.finish()
            try session.add(".lock", "1".utf8)
            try session.add(".session.json.new", "{".utf8)
            let names = try session.archive()[0].metadata.files.map(\.filename)
            #expect(!names.contains { $0.hasPrefix(".") })
        }
    }

    @Test func whatIsMadeCanBeLeftOut() throws {
        try withTemporaryDirectory { data in
            let session = try ArchivedSession(in: data, results: TaskResultsFixture.combined)
            try session.add("asyncFile.txt", "async".utf8)
            try session.finish()
            var choices = ArchiveChoices()
            choices.inserts = [.metadata]
            let names = try session.archive(choices)[0].metadata.files.map(\.filename)
            #expect(names == ["SHA256SUMS", "asyncFile.txt", "report.json", "session.json"])
            choices.inserts = [.answers, .taskResult]
            try session.archive(choices)
            let opened = try OpenedArchive.verify(session.archives.path.appending("s1.zip"))
            #expect(opened.findings.map(\.subject) == ["metadata.json"])
        }
    }

    @Test func bridgesFilesAreThereOnRequest() throws {
        try withTemporaryDirectory { data in
            let session = try ArchivedSession(in: data, results: TaskResultsFixture.single)
            try session.add("asyncFile.txt", "async".utf8)
            try session.finish()
            var choices = ArchiveChoices()
            choices.hasBridgeInfo = true
            try session.archive(choices)
            let archive = try ExtractedArchive("s1.zip", of: session)
            let order = try archive.metadata().files.map(\.filename)
            #expect(order.suffix(4) == ["answers.json", "answers_schema.json", "taskResult.json", "info.json"])
            guard case .object(let info) = try archive.json("info.json"), case .array(let files) = info["files"] else {
                Issue.record("no info.json")
                return
            }
            #expect(info["dataFilename"] == .string("answers.json"))
            #expect(info["format"] == .string("v2_generic"))
            #expect(info["item"] == .string("foo"))
            #expect(files.count == order.count - 1)
        }
    }
}
