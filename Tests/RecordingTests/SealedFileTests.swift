import Files
import Foundation
import Messages
import Recording
import SystemPackage
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5)))
struct SealedFileTests {
    private let log = LogFixture()

    @Test func syncingWhileAppendingDisturbsNothing() async throws {
        try await TestSupport.withTemporaryDirectory { path in
            let file = try log.makeFile(in: Directory(path))
            let handle = file.handle
            let isDone = Shared(0)
            let syncs = Task {
                var count = 0
                repeat {
                    try handle.sync()
                    count += 1
                    await Task.yield()
                } while isDone.value == 0
                return count
            }
            let batch = log.batches(.json)[1]
            for _ in 0..<500 {
                try log.append(batch, to: file)
                await Task.yield()
            }
            isDone.value = 1
            #expect(try await syncs.value > 0)
            #expect(try log.records(of: file.path) == 1000)
            #expect(file.sampleCount == 1000)
        }
    }

    @Test func finishedFilesHaveNameSizeAndHash() throws {
        try withTemporaryDirectory { directory in
            let file = try log.makeFile(in: directory, .json, .array)
            for batch in log.batches(.json) { try log.append(batch, to: file) }
            let whole = try text(of: file.path)
            let finished = try file.finish(at: try WallTime(iso8601: "2026-11-20T23:53:01.500Z"))
            #expect(finished.name == "phone_accelerometer-20261120235301.json")
            #expect(finished.bytes == whole.utf8.count)
            #expect(finished.samples == 3)
            #expect(try text(of: directory.path.appending(finished.name)) == whole)
            #expect(try FinishedFile.measure(directory.path.appending(finished.name)).sha256 == finished.sha256)
            #expect(try directory.names() == [finished.name])
        }
    }

    @Test func theHashIsSHA256() throws {
        try withTemporaryDirectory { directory in
            let finished = try log.makeFile(in: directory).finish(at: WallTime(nanosecondsSince1970: 0))
            // The output of sha256sum(1) for "[\n\n]".
            #expect(finished.sha256 == "ace810d7e2cbb4f8c40ce09dc8e191ae466adb4e1a7d49c59f2215b411d38b05")
        }
    }

    /// SEEDS case 16, and with a clock that is set back.
    @Test func sealedFilesStandInTheOrderInWhichTheyWereSealed() throws {
        try withTemporaryDirectory { directory in
            let dates = [
                "23:53:01.900", "23:53:01.100", "23:53:01.999", "23:53:02", "22:00:00", "23:53:02.5", "23:53:03",
            ]
            var last: FinishedName?
            let names = try dates.map { time in
                let sealed = try log.makeFile(in: directory).seal(
                    at: WallTime(iso8601: "2026-11-20T\(time)Z"), after: last)
                last = sealed.name
                return sealed.name
            }
            #expect(
                names.map(\.description) == [
                    "phone_accelerometer-20261120235301.json", "phone_accelerometer-20261120235301-01.json",
                    "phone_accelerometer-20261120235301-02.json", "phone_accelerometer-20261120235302.json",
                    "phone_accelerometer-20261120235302-01.json", "phone_accelerometer-20261120235302-02.json",
                    "phone_accelerometer-20261120235303.json",
                ])
            #expect(names.sorted() == names)
        }
    }

    @Test func aFileThatLiesThereIsNeverReplaced() throws {
        try withTemporaryDirectory { directory in
            let date = try WallTime(iso8601: "2026-11-20T23:53:01Z")
            let names = try (0..<3).map { _ in try log.makeFile(in: directory).finish(at: date).name }
            #expect(Set(names) == Set(try directory.names()) && names.count == 3)
        }
    }

    @Test func nothingWaitsForTheDiskBeforeAFileIsCompleted() throws {
        try withTemporaryDirectory { directory in
            let faults = Faults()
            let file = try log.makeFile(in: directory, calls: faults.failing())
            for batch in log.batches(.json) { try log.append(batch, to: file) }
            let sealed = try file.seal(at: .now, after: nil)
            #expect(faults.count(of: .sync) + faults.count(of: .syncAll) == 0)
            _ = try sealed.complete(hash: nil)
            #expect(faults.count(of: .sync) == 1)
            #expect(faults.count(of: .syncAll) > 0)
        }
    }

    @Test func theFirstSyncOfANewFileMakesItsNameDurable() throws {
        try withTemporaryDirectory { directory in
            let faults = Faults()
            let file = try log.makeFile(in: directory, calls: faults.failing(.syncAll, number: 1))
            #expect(throws: RecordingError.self) { try file.handle.sync() }
            for _ in 0..<3 { try file.handle.sync() }
            #expect(faults.count(of: .sync) == 4)
            #expect(faults.count(of: .syncAll) == 2)
        }
    }

    @Test func aFileThatSomebodyElseChangedIsNotCertified() throws {
        try withTemporaryDirectory { directory in
            let file = try log.makeFile(in: directory)
            let other = try FileDescriptor.open(file.path, .writeOnly, options: .append)
            try other.closeAfter { _ = try other.writeAll("x".utf8) }
            #expect(throws: RecordingError.self) { try file.finish(at: WallTime(nanosecondsSince1970: 0)) }
        }
    }

    @Test func aFileThatWasRemovedOrReplacedIsNoticed() throws {
        try withTemporaryDirectory { directory in
            let file = try log.makeFile(in: directory)
            #expect(file.handle.isLinked)
            let sealed = try file.seal(at: .now, after: nil)
            // The file's former name may belong to another file by now.
            let next = try log.makeFile(in: directory)
            #expect(file.handle.isLinked)
            try FileManager.default.removeItem(atPath: next.path.string)
            #expect(!next.handle.isLinked)
            #expect(throws: RecordingError.self) { try next.seal(at: .now, after: nil) }
            let path = directory.path.appending(sealed.name.description).string
            try FileManager.default.removeItem(atPath: path)
            try FileManager.default.copyItem(atPath: "/dev/null", toPath: path)
            #expect(!file.handle.isLinked)
            let error = try #require(throws: RecordingError.self) { try sealed.complete(hash: nil) }
            #expect(error.code == .unreadable)
        }
    }

    // MARK: Faults

    /// Writes a log from beginning to end and repeats each step that fails. At every moment, the file is valid under its current
    /// name and has what was appended.
    @Test(arguments: 0..<4, Faults.Call.allCases)
    func whateverCallFailsAnotherAttemptGoesOn(kind: Int, call: Faults.Call) throws {
        let (format, root) = logKinds[kind]
        let batches = log.batches(format)
        let date = try WallTime(iso8601: "2026-11-20T23:53:01Z")
        let whole = try log.wholeText(of: batches, format, root)
        let number = try Faults.each(call) { directory, calls in
            var failures = 0
            func attempt<Value>(_ step: () throws(RecordingError) -> Value) throws -> Value {
                do throws(RecordingError) {
                    return try step()
                } catch {
                    failures += 1
                    #expect(error.code == .inputOutput)
                    if let name = try directory.names().first {
                        _ = try log.records(of: directory.path.appending(name))
                    }
                    return try step()
                }
            }
            let file = try attempt { () throws(RecordingError) in
                try log.makeFile(in: directory, format, root, calls: calls)
            }
            for (index, batch) in batches.enumerated() {
                try attempt { () throws(RecordingError) in try log.append(batch, to: file) }
                try attempt { () throws(RecordingError) in try file.handle.sync() }
                #expect(try text(of: file.path) == log.wholeText(of: Array(batches[...index]), format, root))
            }
            let sealed = try attempt { () throws(RecordingError) in try file.seal(at: date, after: nil) }
            let finished = try attempt { () throws(RecordingError) in try sealed.complete(hash: nil) }
            #expect(try directory.names() == [finished.name])
            #expect(try text(of: directory.path.appending(finished.name)) == whole)
            #expect(finished.bytes == whole.utf8.count && finished.samples == 3)
            return failures
        }
        #expect(number > [.write: 5, .resize: 0, .sync: 5, .syncAll: 2, .rename: 1][call, default: .max])
    }
}
