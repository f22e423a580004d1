import Files
import Foundation
import Messages
import Recording
import SystemPackage
import TestSupport
import Testing

/// The cases of the ancestors' logger, with their numbers in SEEDS.
///
/// Case 4 needs the programs (SystemTests); 1, 9, 10 and 11 are decisions of the recorder (RecorderTests).
@Suite(.timeLimit(.minutes(5)))
struct LoggerAcceptanceTests {
    /// Ours: an object is a sample with its step and times.
    @Test func case2AFinishedFileHasTheObject() throws {
        try withTemporaryDirectory { directory in
            let log = try RollingLog(in: directory)
            try log.append([[0.5, 1.25, -3]])
            try log.roll()
            let finished = try log.finished
            #expect(finished.count == 1)
            #expect(
                try log.records(#require(finished.first)) == [
                    LogItem(uptime: 0.5, timestamp: 0.5, stepPath: "Task", sensorType: "gyro", x: 1.25, y: -3)
                ])
        }
    }

    @Test func case3EachRolloverLeavesAFileOfItsFormat() throws {
        try withTemporaryDirectory { directory in
            let log = try RollingLog(in: directory)
            for number in 1...3 {
                try log.append([[Double(number), 0, 0]])
                try log.roll()
            }
            let finished = try log.finished
            #expect(finished.count == 3)
            #expect(finished.allSatisfy { $0.description.hasSuffix(".json") })
            #expect(try finished.map { try log.records($0).map(\.uptime) } == [[1], [2], [3]])
        }
    }

    /// Ours: log-manager removes files; the writer notices only that they are gone, and never reuses their names.
    @Test func case5RemovedFilesAreGoneAndTheLogGoesOn() throws {
        try withTemporaryDirectory { directory in
            let log = try RollingLog(in: directory)
            for number in 1...2 {
                try log.append([[Double(number), 0, 0]])
                try log.roll()
            }
            let removed = try log.finished
            #expect(removed.count == 2)
            for name in removed {
                try FileManager.default.removeItem(atPath: directory.path.appending(name.description).string)
            }
            #expect(try log.finished == [])
            try log.append([[3, 0, 0]])
            try log.roll()
            let next = try #require(try log.finished.first)
            #expect(next > removed[1])
            #expect(try log.records(next).map(\.uptime) == [3])
        }
    }

    /// Ours: log-manager keeps marks, by path and hash; the writer never touches a file that may have been marked.
    @Test func case6AFinishedFileStaysWhatItWasWhenItWasMarked() throws {
        try withTemporaryDirectory { directory in
            let log = try RollingLog(in: directory)
            try log.append([[1, 0, 0]])
            let marked = directory.path.appending(try log.roll().name)
            // Any later write would change the modification time.
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSince1970: 1)], ofItemAtPath: marked.string)
            let before = (try Identity(marked), try text(of: marked))
            try log.append([[2, 0, 0]])
            let other = try log.roll()
            try log.append([[3, 0, 0]])
            #expect((try Identity(marked), try text(of: marked)) == before)
            #expect(try FinishedFile.measure(marked).sha256 != other.sha256)
        }
    }

    /// Ours: log-manager knows which files are uploaded; the writer's names are unique and sort by age.
    @Test func case7FinishedFilesAreListedOldestFirst() throws {
        try withTemporaryDirectory { directory in
            let log = try RollingLog(in: directory)
            try log.append([[1, 0, 0]])
            let first = try log.roll(at: "2026-11-20T23:59:59Z")
            try log.append([[2, 0, 0]])
            let second = try log.roll(at: "2026-11-21T00:00:00Z")
            #expect(try log.finished.map(\.description) == [first.name, second.name])
            let uploaded: Set<String> = [first.name]
            #expect(try log.finished.map(\.description).filter(uploaded.contains) == [first.name])
            #expect(try log.finished.map(\.description).filter { !uploaded.contains($0) } == [second.name])
        }
    }

    /// Ours: only the file system protects files; a rollover leaves one finished file and a new current one.
    @Test func case8ARolloverLeavesTheObjectAndANewCurrentFile() throws {
        try withTemporaryDirectory { directory in
            let log = try RollingLog(in: directory)
            try log.append([[1, 2, 3]])
            let before = try Identity(log.path)
            try log.roll()
            let finished = try log.finished
            #expect(finished.count == 1)
            #expect(try log.records(#require(finished.first)).map(\.x) == [2])
            #expect(log.path.lastComponent == "phone_gyro.json")
            #expect(try Identity(log.path).number != before.number)
            #expect(try LogItem.read(log.path) == [])
        }
    }

    /// Ours: an empty object is a sample that has a time and no values.
    @Test func case12EmptySamplesAreSamples() throws {
        try withTemporaryDirectory { directory in
            let log = try RollingLog(in: directory, fields: ["uptime"])
            for count in 1...2 {
                try log.append([[Double(count)]])
                let file = try log.roll()
                #expect(file.samples == 1)
                let finished = try log.finished
                #expect(finished.count == count)
                let items = try log.records(#require(finished.last))
                #expect(items.map(\.uptime) == [Double(count)])
                #expect(items.allSatisfy { $0.x == nil })
            }
        }
    }

    @Test func case13TheCurrentFileIsValidAfterEachAppend() throws {
        try withTemporaryDirectory { directory in
            let log = try RollingLog(in: directory)
            for count in 1...2 {
                try log.append([[Double(count), 0, 0]])
                #expect(try LogItem.read(log.path).map(\.uptime) == (1...count).map(Double.init))
            }
        }
    }

    @Test func case14ABatchIsInItsOrder() throws {
        try withTemporaryDirectory { directory in
            let log = try RollingLog(in: directory)
            try log.append((0..<100).map { [Double($0) / 64, Double($0), 0] })
            try log.roll()
            #expect(try log.records(#require(try log.finished.first)).map(\.x) == (0..<100).map(Double.init))
        }
    }

    @Test func case15AfterTheLastRolloverTheDirectoryCanGo() throws {
        try withTemporaryDirectory { data in
            let directory = Directory(data.path.appending("log"))
            try directory.create()
            func record() throws {
                let log = try RollingLog(in: directory)
                try log.append([[1, 0, 0]])
                try log.roll()
                #expect(try Self.openFiles(under: directory.path) == 1)
            }
            try record()
            // A file that is still open would use disk space after its removal.
            #expect(try Self.openFiles(under: directory.path) == 0)
            try FileManager.default.removeItem(atPath: directory.path.string)
            #expect(try data.names() == [])
        }
    }

    @Test func case16RolloversOfOneSecondStandInTheirOrder() throws {
        try withTemporaryDirectory { directory in
            let log = try RollingLog(in: directory)
            // The last one is finished after the clock was set back.
            for (number, second) in ["01.1", "01.2", "01.9", "00.5"].enumerated() {
                try log.append([[Double(number), 0, 0]])
                try log.roll(at: "2026-11-20T23:53:\(second)Z")
            }
            #expect(try log.finished.map { try log.records($0).map(\.uptime) } == [[0], [1], [2], [3]])
        }
    }

    /// The properties of a file that change when it is replaced or written to.
    private struct Identity: Equatable {
        var number: Int
        var modificationDate: Date

        init(_ path: FilePath) throws {
            let attributes = try FileManager.default.attributesOfItem(atPath: path.string)
            number = try #require(attributes[.systemFileNumber] as? Int)
            modificationDate = try #require(attributes[.modificationDate] as? Date)
        }
    }

    /// The number of files under a directory that this process has open.
    private static func openFiles(under directory: FilePath) throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").filter { descriptor in
            // Descriptors of other tests come and go.
            let file = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(descriptor)")
            return file?.hasPrefix(directory.string + "/") == true
        }.count
    }
}
