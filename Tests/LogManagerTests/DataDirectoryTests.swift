import Files
import Glibc
import Messages
import Recording
import SystemPackage
import TestSupport
import Testing

@testable import LogManagerCore
@testable import LogStorage

@Suite(.timeLimit(.minutes(1)))
struct DataDirectoryTests {
    private static let name = "phone_gyro-20261120235301.json"
    private static let other = "phone_gyro-20261120235302.json"

    /// A data directory with a session of two finished files, both in the catalog; and, beside it, an unrelated directory with a
    /// file of the same name.
    private func withFiles(
        _ body: (_ data: FilePath, _ session: StoredSession, _ outside: FilePath, _ files: [CatalogFile]) throws -> Void
    ) throws {
        try withTemporaryDirectory { root in
            let data = root.appending("data")
            let session = try StoredSession("s", in: data)
            try session.write(Self.name)
            try session.write(Self.other)
            let outside = try StoredSession("s", in: root.appending("outside"))
            try outside.write(Self.name)
            let catalog = try Catalog(in: data)
            let folder = try DataDirectory(data)
            _ = try catalog.reconcile(with: try folder.content(of: session.identifier), in: folder)
            let files = try catalog.files(limit: 10)
            #expect(files.map(\.name.description) == [Self.name, Self.other])
            try body(data, session, outside.directory.directory.path, files)
            #expect(outside.has(Self.name), "nothing outside is touched")
        }
    }

    /// Removes the first of two files, which must be refused, and checks that the other one is unchanged.
    private func expectRefusal(
        _ reason: String, of files: [CatalogFile], in data: FilePath, isWholeSession: Bool = false,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let folder = try DataDirectory(data)
        let look = folder.look(up: files[0].path)
        let results = folder.remove(
            isWholeSession ? files : [files[0]], of: files[0].session, reason: .removeUploaded, date: .now)
        for (file, refusal) in results {
            #expect(
                refusal?.contains(reason) == true, "\(file.path): \(refusal ?? "removed")",
                sourceLocation: sourceLocation)
        }
        if isWholeSession {
            guard case .refused(let refusal) = look else {
                Issue.record("it can be looked at", sourceLocation: sourceLocation)
                return
            }
            #expect(refusal.contains(reason), sourceLocation: sourceLocation)
        } else {
            #expect(folder.look(up: files[1].path) == .found(files[1].identity), sourceLocation: sourceLocation)
        }
    }

    @Test func aFileThatIsTheOneIsRemovedAndListed() throws {
        try withFiles { data, session, _, files in
            let results = try DataDirectory(data).remove(
                [files[0]], of: session.identifier, reason: .removeUploaded, date: .now)
            #expect(results.map(\.refusal) == [nil])
            #expect(!session.has(Self.name))
            #expect(session.has(Self.other))
            let removed = try RemovedFile.read(in: session.directory.directory)
            #expect(removed.map(\.name) == [Self.name])
            #expect(removed.map(\.reason) == ["removeUploaded"])
        }
    }

    @Test func aFileThatIsGoneCountsAsRemoved() throws {
        try withFiles { data, session, _, files in
            unlink(session.path(of: Self.name).string)
            let folder = try DataDirectory(data)
            let results = folder.remove(files, of: session.identifier, reason: .whenFull, date: .now)
            #expect(results.map(\.refusal) == [nil, nil])
            #expect(!session.has(Self.other))
            #expect(folder.look(up: files[0].path) == .refused("it is not there"))
        }
    }

    @Test(arguments: [
        "recordings/../recordings/s/\(name)", "recordings/s/../s/\(name)", "/etc/passwd",
        "../outside/recordings/s/\(name)", "recordings/s/session.json", "recordings/s/\(name)/",
        "recordings//s/\(name)",
    ])
    func aForeignPathIsRefused(path: String) throws {
        try withFiles { data, _, _, _ in
            let folder = try DataDirectory(data)
            guard case .refused = folder.look(up: path) else {
                Issue.record("\(path) is looked at")
                return
            }
            #expect(folder.find(path) == nil)
        }
    }

    @Test func aLinkInPlaceOfAFileIsRefused() throws {
        try withFiles { data, session, outside, files in
            unlink(session.path(of: Self.name).string)
            #expect(symlink(outside.appending(Self.name).string, session.path(of: Self.name).string) == 0)
            try expectRefusal("symbolic link", of: files, in: data)
            #expect(session.has(Self.name))
        }
    }

    @Test func aLinkInPlaceOfASessionIsRefused() throws {
        try withFiles { data, session, outside, files in
            let path = session.directory.directory.path
            #expect(rename(path.string, path.string + ".old") == 0)
            #expect(symlink(outside.string, path.string) == 0)
            try expectRefusal("symbolic link", of: files, in: data, isWholeSession: true)
            let folder = try DataDirectory(data)
            #expect(try folder.sessions().map(\.text) == ["s.old"])
            #expect(folder.currentBytes(of: [session.identifier], at: .now) == 0)
            #expect(try !folder.content(of: session.identifier).exists)
        }
    }

    @Test func aLinkInPlaceOfAllSessionsIsRefused() throws {
        try withFiles { data, session, outside, files in
            let recordings = data.appending("recordings")
            #expect(rename(recordings.string, recordings.string + ".old") == 0)
            #expect(symlink(outside.removingLastComponent().string, recordings.string) == 0)
            try expectRefusal("symbolic link", of: files, in: data, isWholeSession: true)
            let folder = try DataDirectory(data)
            #expect(throws: RecordingError.self) { try folder.sessions() }
            // Nor are known files forgotten.
            #expect(throws: RecordingError.self) { try folder.content(of: session.identifier) }
        }
    }

    @Test func aFileWithASecondNameIsRefused() throws {
        try withFiles { data, session, outside, files in
            #expect(link(session.path(of: Self.name).string, outside.appending("kept").string) == 0)
            try expectRefusal("2 names", of: files, in: data)
            #expect(session.has(Self.name))
        }
    }

    @Test func aReplacedFileIsRefused() throws {
        try withFiles { data, session, _, files in
            try session.write("phone_gyro-20261120235303.json", modified: files[0].identity.modified)
            #expect(
                rename(
                    session.path(of: "phone_gyro-20261120235303.json").string, session.path(of: Self.name).string) == 0)
            try expectRefusal("changed or replaced", of: files, in: data)
            #expect(session.has(Self.name))
        }
    }

    @Test func aChangedFileIsRefused() throws {
        try withFiles { data, session, _, files in
            try session.append(to: Self.name)
            try expectRefusal("changed or replaced", of: files, in: data)
            #expect(session.has(Self.name))
        }
    }

    @Test func aDirectoryInPlaceOfAFileIsRefused() throws {
        try withFiles { data, session, _, files in
            unlink(session.path(of: Self.name).string)
            #expect(mkdir(session.path(of: Self.name).string, 0o755) == 0)
            try expectRefusal("not a file", of: files, in: data)
        }
    }

    @Test func oneRefusalKeepsNoOtherFile() throws {
        try withFiles { data, session, _, files in
            try session.append(to: Self.name)
            let results = try DataDirectory(data).remove(files, of: session.identifier, reason: .whenFull, date: .now)
            #expect(results.map { $0.refusal == nil } == [false, true])
            #expect(session.has(Self.name))
            #expect(!session.has(Self.other))
            #expect(try RemovedFile.read(in: session.directory.directory).map(\.name) == [Self.other])
        }
    }

    // MARK: Counted files

    @Test func inASessionThatIsOverEveryFinishedFileOfItsLogsCounts() throws {
        try withTemporaryDirectory { data in
            let session = try StoredSession("s", in: data, status: .failed)
            try session.write(Self.name)
            try session.write(Self.other)
            try session.write("stranger-20261120235301.json")
            try session.write("phone_gyro.json")
            try session.list(Self.other)
            let content = try DataDirectory(data).content(of: session.identifier)
            #expect(content.isOver && content.warning == nil)
            let finished = content.files.filter(\.isFinished)
            #expect(finished.map(\.name.description) == [Self.name, Self.other])
            #expect(finished.map(\.sha256) == [nil, String(repeating: "0f", count: 32)])
        }
    }

    @Test func inASessionThatIsNotOverOnlyListedFilesCount() throws {
        try withTemporaryDirectory { data in
            let session = try StoredSession("s", in: data, status: .running)
            try session.write(Self.name)
            try session.write(Self.other)
            try session.list(Self.name, bytes: 39)
            let content = try DataDirectory(data).content(of: session.identifier)
            #expect(!content.isOver)
            #expect(content.files.filter(\.isFinished).map(\.name.description) == [Self.name])
            // The hash is of a file of another size.
            #expect(content.files.allSatisfy { $0.sha256 == nil })
        }
    }

    @Test func withoutItsRecordNoFileOfASessionIsNew() throws {
        try withTemporaryDirectory { data in
            let session = try StoredSession("s", in: data)
            try session.write(Self.name)
            let folder = try DataDirectory(data)
            try session.write("session.json", bytes: 10)
            let content = try folder.content(of: session.identifier)
            #expect(content.files.map(\.isFinished) == [false])
            #expect(content.warning?.contains("session.json can't be read") == true)
            // A link to a readable record is not followed.
            let other = try StoredSession("t", in: data)
            unlink(session.path(of: "session.json").string)
            #expect(symlink(other.path(of: "session.json").string, session.path(of: "session.json").string) == 0)
            #expect(try folder.content(of: session.identifier).warning != nil)
            // Reading must not block on a pipe.
            unlink(session.path(of: "session.json").string)
            #expect(mkfifo(session.path(of: "session.json").string, 0o644) == 0)
            #expect(try folder.content(of: session.identifier).warning != nil)
        }
    }

    @Test func whatRemainsOfASessionIsRemovedAsAWhole() throws {
        try withTemporaryDirectory { data in
            let session = try StoredSession("s", in: data)
            let folder = try DataDirectory(data)
            let path = try session.finish(bytes: 1000)
            // The session still has a file.
            #expect(folder.retireRemains(of: session.identifier, onlyUploaded: false) == .kept(nil))
            unlink(data.appending(path).string)
            // Nobody has reported what happened to the file.
            #expect(folder.retireRemains(of: session.identifier, onlyUploaded: false) == .kept(nil))
            let name = String(path.split(separator: "/")[2])
            try RemovedFile.append(
                [RemovedFile(name: name, bytes: 1000, reason: "whenFull", date: .now)], in: session.directory.directory)
            #expect(folder.retireRemains(of: session.identifier, onlyUploaded: true) == .kept(nil))
            // A stream file that the record does not list.
            try session.write("phone_gps.json")
            #expect(folder.retireRemains(of: session.identifier, onlyUploaded: false) == .kept(nil))
            unlink(session.path(of: "phone_gps.json").string)
            // Files that a client added, two of them with names like those of stream files.
            try session.write("photo.jpg", bytes: 500)
            try session.write("tapping.json", bytes: 11)
            try session.write("tapping-20261121000000.json", bytes: 13)
            #expect(mkdir(session.path(of: "more").string, 0o755) == 0)
            // A link is removed, but not its target.
            try session.write("more/x", bytes: 7)
            let elsewhere = data.appending("elsewhere").string
            #expect(mkdir(elsewhere, 0o755) == 0)
            #expect(symlink(elsewhere, session.path(of: "more/link").string) == 0)
            let bytes = try folder.content(of: session.identifier).otherBytes
            #expect(bytes > 531)
            let changes = try Catalog(in: data).reconcile(with: folder.content(of: session.identifier), in: folder)
            #expect(changes.remains == SessionRemains(bytes: bytes, files: 0))
            #expect(folder.retireRemains(of: session.identifier, onlyUploaded: false) == .retired(bytes: bytes))
            #expect(try folder.sessions().isEmpty && folder.retiredSessions() == [session.identifier])
            #expect(access(data.appending("recordings/~s/session.json").string, F_OK) == 0)
            #expect(folder.eraseRemains(of: session.identifier) == nil)
            #expect(access(elsewhere, F_OK) == 0)
            #expect(access(data.appending("recordings/~s").string, F_OK) != 0)
        }
    }

    @Test func aSessionCanBeRetiredAfterAllItsFiles() throws {
        try withFiles { data, session, _, files in
            let folder = try DataDirectory(data)
            func bytes(without files: [CatalogFile], onlyUploaded: Bool = false) -> Int? {
                folder.retirableBytes(of: session.identifier, onlyUploaded: onlyUploaded, without: files)
            }
            let other = try folder.content(of: session.identifier).otherBytes
            #expect(bytes(without: files) == other)
            #expect(bytes(without: [files[0]]) == nil)
            #expect(bytes(without: files, onlyUploaded: true) == nil)
            #expect(session.has(Self.name))
        }
    }

    /// The receiver does not have these annotations.
    @Test(arguments: [true, false])
    func annotationsThatCameAfterTheUploadAreKept(hasMade: Bool) throws {
        try withTemporaryDirectory { data in
            let session = try StoredSession("s", in: data)
            let folder = try DataDirectory(data)
            let path = try session.finish(bytes: 1000)
            unlink(data.appending(path).string)
            let (made, uploaded) = (WallTime(seconds: 1_000), WallTime(seconds: 2_000))
            try RemovedFile.append(
                [
                    RemovedFile(
                        name: String(path.split(separator: "/")[2]), bytes: 1000, reason: "removeUploaded", date: .now,
                        uploaded: uploaded,
                        receipt: .object(hasMade ? ["made": .string(made.utcText)] : ["etag": .string("x")]))
                ], in: session.directory.directory)
            func annotate(_ number: Int, at seconds: Double) throws {
                let date = WallTime(seconds: seconds)
                try session.directory.add(Annotation(number: number, label: "fall", from: date, date: date))
            }
            try annotate(1, at: 900)
            // The annotation came while the archive waited for its receiver; without a record of the archive's making, the upload
            // time applies.
            if hasMade { try annotate(2, at: 1_500) } else { try annotate(2, at: 2_500) }
            #expect(folder.retireRemains(of: session.identifier, onlyUploaded: true) == .kept(nil))
            try Directory.removeFile(session.path(of: SessionDirectory.annotationsName))
            try annotate(1, at: 900)
            let bytes = try folder.content(of: session.identifier).otherBytes
            #expect(folder.retireRemains(of: session.identifier, onlyUploaded: true) == .retired(bytes: bytes))
        }
    }

    /// A session whose only file was uploaded in an archive with one annotation, made at 1,000 s and confirmed at 2,000 s.
    private func withUploadedSession(_ body: (StoredSession, DataDirectory) throws -> Void) throws {
        try withTemporaryDirectory { data in
            let session = try StoredSession("s", in: data)
            let made = WallTime(seconds: 1_000).utcText
            try RemovedFile.append(
                [
                    RemovedFile(
                        name: Self.name, bytes: 1000, reason: "removeUploaded", date: .now,
                        uploaded: WallTime(seconds: 2_000),
                        receipt: .object(["made": .string(made), "lastAnnotation": .integer(1)]))
                ], in: session.directory.directory)
            try body(session, try DataDirectory(data))
        }
    }

    /// The clock may have been set back since the archive was made.
    @Test func laterAnnotationsAreFoundByTheirNumbers() throws {
        try withUploadedSession { session, folder in
            func annotate(_ number: Int, at seconds: Double) throws {
                let date = WallTime(seconds: seconds)
                try session.directory.add(Annotation(number: number, label: "fall", from: date, date: date))
            }
            try annotate(1, at: 1_500)
            try annotate(2, at: 900)
            #expect(folder.retireRemains(of: session.identifier, onlyUploaded: true) == .kept(nil))
            try Directory.removeFile(session.path(of: SessionDirectory.annotationsName))
            try annotate(1, at: 1_500)
            let bytes = try folder.content(of: session.identifier).otherBytes
            #expect(folder.retireRemains(of: session.identifier, onlyUploaded: true) == .retired(bytes: bytes))
        }
    }

    /// The receiver does not have the samples that a fill added later.
    @Test(arguments: [(1_500.0, true), (900.0, false)])
    func aSessionIsKeptWithAFillThatCameAfterItsUpload(seconds: Double, isKept: Bool) throws {
        try withUploadedSession { session, folder in
            session.record.fills = [
                SessionRecord.Fill(
                    number: 1, date: WallTime(seconds: seconds), device: "phone",
                    source: SessionRecord.Source(name: "export", bytes: 1, sha256: ""), offsets: [:], version: "1",
                    former: [])
            ]
            try session.directory.write(session.record)
            let bytes = try folder.content(of: session.identifier).otherBytes
            let outcome = folder.retireRemains(of: session.identifier, onlyUploaded: true)
            #expect(outcome == (isKept ? .kept(nil) : .retired(bytes: bytes)))
        }
    }

    /// The recorder may have discarded it just before.
    @Test func aSessionThatIsGoneIsNotRetired() throws {
        try withTemporaryDirectory { data in
            let session = try StoredSession("s", in: data)
            let folder = try DataDirectory(data)
            try Directory.removeTree(session.directory.directory.path)
            #expect(folder.retireRemains(of: session.identifier, onlyUploaded: false) == .gone)
        }
    }

    @Test func aSessionThatWasRetiredIsFoundAgain() throws {
        try withTemporaryDirectory { data in
            let session = try StoredSession("s", in: data)
            let folder = try DataDirectory(data)
            let renamed = data.appending("recordings/~s").string
            #expect(rename(session.directory.directory.path.string, renamed) == 0)
            // These names belong to no session.
            for name in ["~", "~my notes", "~~s"] {
                #expect(mkdir(data.appending("recordings").appending(name).string, 0o755) == 0)
            }
            #expect(symlink(renamed, data.appending("recordings/~link").string) == 0)
            #expect(try folder.sessions().isEmpty)
            #expect(try folder.retiredSessions() == [session.identifier])
            #expect(folder.eraseRemains(of: session.identifier) == nil)
            #expect(access(renamed, F_OK) != 0)
            #expect(try folder.retiredSessions().isEmpty)
            #expect(folder.eraseRemains(of: session.identifier) == nil)
        }
    }

    /// The receiver does not have the file.
    @Test(arguments: [true, false])
    func aSessionIsKeptOfWhichAFileCouldNotBeArchived(hasLeftOut: Bool) throws {
        try withTemporaryDirectory { data in
            let session = try StoredSession("s", in: data)
            let folder = try DataDirectory(data)
            try RemovedFile.append(
                [
                    RemovedFile(
                        name: Self.name, bytes: 1, reason: "removeUploaded", date: .now, uploaded: .now,
                        receipt: .object(hasLeftOut ? ["leftOut": .integer(1)] : [:]))
                ], in: session.directory.directory)
            let bytes = try folder.content(of: session.identifier).otherBytes
            let expected: RemainsOutcome = hasLeftOut ? .kept(nil) : .retired(bytes: bytes)
            #expect(folder.retireRemains(of: session.identifier, onlyUploaded: true) == expected)
        }
    }

    /// Otherwise the second session would be removed without an event of its own.
    @Test func aSessionIsRetiredAfterAnEarlierOneOfItsName() throws {
        try withTemporaryDirectory { data in
            let session = try StoredSession("s", in: data)
            let folder = try DataDirectory(data)
            try RemovedFile.append(
                [RemovedFile(name: Self.name, bytes: 1, reason: "whenFull", date: .now)],
                in: session.directory.directory)
            #expect(mkdir(data.appending("recordings/~s").string, 0o755) == 0)
            #expect(folder.retireRemains(of: session.identifier, onlyUploaded: false) == .kept(nil))
            #expect(folder.eraseRemains(of: session.identifier) == nil)
            let outcome = folder.retireRemains(of: session.identifier, onlyUploaded: false)
            guard case .retired = outcome else {
                Issue.record("\(outcome)")
                return
            }
        }
    }

    @Test func currentBytesAreThoseOfFilesBeingWritten() throws {
        try withTemporaryDirectory { data in
            let session = try StoredSession("s", in: data, status: .running)
            let folder = try DataDirectory(data)
            try session.write(Self.name, bytes: 1000)
            try session.write("report.json", bytes: 1000)
            try session.write("tapping.json", bytes: 1000)
            #expect(folder.currentBytes(of: [session.identifier], at: .now) == 0)
            try session.write("phone_gyro.json", bytes: 30)
            try session.write("watch_gyro.csv", bytes: 4)
            #expect(folder.currentBytes(of: [session.identifier], at: .now) == 34)
            try session.append(to: "phone_gyro.json")
            #expect(folder.currentBytes(of: [session.identifier], at: .now) == 35)
            #expect(rename(session.path(of: "phone_gyro.json").string, session.path(of: Self.other).string) == 0)
            #expect(folder.currentBytes(of: [session.identifier], at: .now) == 4)
            #expect(folder.currentBytes(of: [try SessionIdentifier("nobody")], at: .now) == 0)
            #expect(try #require(folder.freeBytes()) > 0)
        }
    }

    /// A listing is reused as long as the directory has not changed, regardless of the clock's resolution.
    @Test func namesAreListedAgainWhereTheDirectoryMayHaveChanged() throws {
        try withTemporaryDirectory { data in
            let session = try StoredSession("s", in: data, status: .running)
            let folder = try #require(try DataDirectory(data).open(session.identifier))
            try session.write("phone_gyro.json")
            let changed = try folder.entriesChanged()
            let early = OpenFileNames(
                in: folder, known: nil, now: WallTime(nanosecondsSince1970: changed + 1))
            let late = OpenFileNames(
                in: folder, known: nil, now: WallTime(nanosecondsSince1970: changed + 1_000_000_000))
            let names = session.directory.directory.path
            let time = timespec(tv_sec: Int(changed / 1_000_000_000), tv_nsec: Int(changed % 1_000_000_000))
            try session.write("watch_gyro.json")
            // As if the file had been added in the same clock tick.
            #expect(utimensat(AT_FDCWD, names.string, [time, time], 0) == 0)
            #expect(OpenFileNames(in: folder, known: early, now: .now)?.names.count == 2)
            #expect(OpenFileNames(in: folder, known: late, now: .now)?.names.count == 1)
            try session.write("phone_gps.json")
            #expect(OpenFileNames(in: folder, known: late, now: .now)?.names.count == 3)
        }
    }
}
