import Export
import Files
import Foundation
import Messages
import Recording
import SystemPackage
import TestSupport
import Testing

/// What every export refuses, keeps and leaves behind, whatever its format.
@Suite(.timeLimit(.minutes(1)))
struct SessionExportTests {
    private static func made(in data: FilePath) throws -> MadeSession {
        let session = try MadeSession(in: data)
        try session.add("a/b", fields: ["x"])
        try session.samples("a/b", from: 0.01, count: 50) { "\($0)" }
        try session.rotate("a/b", at: 0.5)
        try session.samples("a/b", from: 0.51, count: 50) { "\($0 + 50)" }
        try session.finish(at: 2)
        return session
    }

    @Test(arguments: SessionExport.Format.allCases)
    func whatIsThereIsReplacedOnlyOnRequest(_ format: SessionExport.Format) throws {
        try withTemporaryDirectory { directory in
            let session = try Self.made(in: directory)
            let out = directory.appending("out")
            let first = try Exported(session.directory, to: out, format)
            let files = try first.files
            let error = #expect(throws: RecordingError.self) { try Exported(session.directory, to: out, format) }
            #expect(error?.code == .alreadyExists)
            #expect(error?.description.contains("--replace") == true)
            #expect(try first.files == files)
            let again = try Exported(session.directory, to: out, format) { $0.replaces = true }
            #expect(try again.files == files)
        }
    }

    /// The part of a provenance file about units and rates.
    private struct Units: Decodable {
        struct Stream: Decodable {
            struct Change: Decodable, Equatable {
                var epoch: String
                var unit: String?
            }

            var unit: String?
            var units: [Change]?
            var rate: Double?
        }

        var streams: [Stream]
    }

    /// A publisher was restarted with another unit and a lower rate.
    @Test(arguments: SessionExport.Format.allCases)
    func noUnitIsStatedForAStreamWhoseUnitChanges(_ format: SessionExport.Format) throws {
        try withTemporaryDirectory { directory in
            let session = try MadeSession(in: directory)
            try session.add("a/accelerometer", unit: "m/s2")
            try session.samples("a/accelerometer", from: 0.01, count: 100) { _ in "0,0,9.8" }
            try session.beginEpoch("a/accelerometer", "E2", unit: "g", rate: 20, at: 1.02)
            try session.samples("a/accelerometer", from: 1.03, count: 20, rate: 20) { _ in "0,0,1" }
            try session.finish(at: 3)
            let exported = try Exported(session.directory, to: directory.appending("out"), format)
            let name = try #require(exported.files.keys.first { $0.hasSuffix("provenance.json") })
            let stream = try #require(
                JSONDecoder().decode(Units.self, from: Data(exported.text(name).utf8)).streams.first)
            #expect(stream.unit == nil && stream.rate == nil)
            #expect(
                stream.units == [
                    Units.Stream.Change(epoch: "E1", unit: "m/s2"), Units.Stream.Change(epoch: "E2", unit: "g"),
                ])
            let wrong = format == .mcap ? "sensor_msgs/msg/Imu" : "m/s2"
            for (name, bytes) in try exported.files where !name.hasSuffix("provenance.json") {
                #expect(bytes.range(of: Data(wrong.utf8)) == nil && !name.hasSuffix("_ros2.mcap"), "\(name)")
            }
        }
    }

    /// A device motion in g also has rotation rates and an attitude.
    @Test(arguments: [
        (SessionExport.Format.bids, "gravity.x\tn/a\tMISC\tphone\tg\n", "rotationRate.x\tn/a\tMISC\tphone\tn/a\n"),
        (
            SessionExport.Format.mcap, #""gravity.x":{"type":"number","description":"g"}"#,
            #""rotationRate.x":{"type":"number"}"#
        ),
        (
            SessionExport.Format.xdf, "<label>gravity.x</label><unit>g</unit></channel>",
            "<label>rotationRate.x</label></channel>"
        ),
    ])
    func onlyColumnsOfItsQuantityHaveTheUnitOfAStream(
        _ format: SessionExport.Format, _ having: String, _ lacking: String
    ) throws {
        try withTemporaryDirectory { directory in
            let fields = ["userAcceleration", "gravity", "rotationRate"].flatMap { name in
                ["x", "y", "z"].map { "\(name).\($0)" }
            }
            let session = try MadeSession(in: directory)
            try session.add("phone/deviceMotion", fields: fields + ["attitude.w"], unit: "g")
            try session.sample("phone/deviceMotion", 0.25, "0,0,0,0,0,1,0.5,0,0,1")
            try session.finish(at: 1)
            let exported = try Exported(session.directory, to: directory.appending("out"), format)
            let files = try exported.files.values
            for text in [having, lacking] {
                #expect(files.contains { $0.range(of: Data(text.utf8)) != nil }, "\(text)")
            }
        }
    }

    @Test func aSlowerRunIsResampledToo() throws {
        try withTemporaryDirectory { directory in
            let session = try MadeSession(in: directory)
            try session.add("a/b", fields: ["x"])
            try session.samples("a/b", from: 0.01, count: 100) { "\($0)" }
            try session.beginEpoch("a/b", "E2", rate: 20, at: 1.02)
            try session.samples("a/b", from: 1.03, count: 20, rate: 20) { "\($0)" }
            try session.finish(at: 3)
            let exported = try Exported(session.directory, to: directory.appending("out"), .csv) { $0.rate = 10 }
            // One each 100 ms from 0.1 s to 1 s, and from 1.1 s to 1.9 s.
            #expect(exported.outcome.samples == 19)
        }
    }

    /// The part of a provenance file that lists absent samples.
    private struct Absences: Decodable {
        struct Stream: Decodable {
            struct Absence: Decodable {
                var reason: String
                var count: Int
            }

            var absent: [Absence]
        }

        var streams: [Stream]
    }

    @Test(arguments: SessionExport.Format.allCases)
    func aDamagedSessionIsExportedOnlyOnRequest(_ format: SessionExport.Format) throws {
        try withTemporaryDirectory { directory in
            let session = try Self.made(in: directory)
            let file = session.path.appending(session.record.logs[0].files[0].name)
            var bytes = try Data(contentsOf: URL(filePath: file.string))
            // Damages a digit of a sample in the middle.
            let field = try #require(bytes.range(of: Data(#""x":"#.utf8), in: bytes.count / 2..<bytes.count))
            bytes[field.upperBound] = UInt8(ascii: "!")
            try bytes.write(to: URL(filePath: file.string))
            let out = directory.appending("out")
            let error = #expect(throws: RecordingError.self) { try Exported(session.directory, to: out, format) }
            #expect(error?.code == .unreadable)
            #expect(error?.description.contains("--allow-damaged") == true)
            #expect(try FileManager.default.contentsOfDirectory(atPath: out.string) == [])
            let exported = try Exported(session.directory, to: out, format) { $0.acceptsDamage = true }
            #expect(exported.outcome.hasLoss)
            // The samples before the damage, and the other file.
            #expect((51..<100).contains(exported.outcome.samples))
            let name = try #require(exported.files.keys.first { $0.hasSuffix("provenance.json") })
            let provenance = try JSONDecoder().decode(Absences.self, from: Data(exported.text(name).utf8))
            let absent = try #require(provenance.streams.first?.absent)
            #expect(absent.map(\.reason) == ["damaged"])
            #expect(absent.map(\.count) == [100 - exported.outcome.samples])
            #expect(try exported.text(name).contains("\"verdict\" : \"damaged\""))
        }
    }

    /// No marker after the damage shows how many samples can't be read.
    @Test func damageAtTheEndOfAStreamIsListed() throws {
        try withTemporaryDirectory { directory in
            let session = try Self.made(in: directory)
            let file = session.path.appending(session.record.logs[0].files[1].name)
            let bytes = try Data(contentsOf: URL(filePath: file.string))
            try bytes.prefix(bytes.count / 2).write(to: URL(filePath: file.string))
            let exported = try Exported(session.directory, to: directory.appending("out"), .csv) {
                $0.acceptsDamage = true
                $0.clock = .recorder
            }
            #expect((51..<100).contains(exported.outcome.samples))
            let gaps = try exported.text("s1/gaps.tsv").split(separator: "\n")
            #expect(gaps.count == 2)
            #expect(gaps.last?.hasSuffix("\t\tdamaged\tE1\t\t0") == true)
        }
    }

    /// A full disk at any write, or a failed rename, leaves no incomplete file under its final name.
    @Test(arguments: SessionExport.Format.allCases)
    func whateverFailsNothingIsLeft(_ format: SessionExport.Format) throws {
        try withTemporaryDirectory { directory in
            let session = try Self.made(in: directory)
            let out = directory.appending("out")
            let whole = try Exported(session.directory, to: directory.appending("whole"), format).files.keys
            var number = 0
            while true {
                let fault = Fault(at: number, noSpace: number.isMultiple(of: 2))
                let export = try SessionExport(
                    session.directory, SessionExport.Options(format: format), version: "0.0.0", calls: fault.calls)
                guard
                    let error = RecordingError.thrown(by: { () throws(RecordingError) in
                        _ = try export.run(to: out) { _, _, _ in }
                    })
                else { break }
                #expect(fault.wasHit)
                #expect(error.code == (number.isMultiple(of: 2) ? .noSpace : .inputOutput))
                let left = try FileManager.default.subpathsOfDirectory(atPath: out.string)
                #expect(!left.contains { $0.contains(".new") }, "\(number): \(left)")
                // Renamed files are complete; the last one proves that all exist.
                let isWhole = left.contains { $0.hasSuffix("provenance.json") }
                #expect(!isWhole || Set(left).isSuperset(of: whole), "\(number): \(left)")
                try FileManager.default.removeItem(atPath: out.string)
                number += 1
            }
            #expect(number > 3)
            #expect(try !FileManager.default.contentsOfDirectory(atPath: out.string).isEmpty)
        }
    }

    @Test func whatAKilledExportLeftIsRemoved() throws {
        try withTemporaryDirectory { directory in
            let session = try Self.made(in: directory)
            let beside = directory.appending("out/.s1-csv.new/s1")
            try FileManager.default.createDirectory(atPath: beside.string, withIntermediateDirectories: true)
            try Data("half".utf8).write(to: URL(filePath: beside.appending("a_b.csv").string))
            let exported = try Exported(session.directory, to: directory.appending("out"), .csv)
            #expect(try exported.files.keys.contains { $0.contains(".new") } == false)
            #expect(try exported.text("s1/a_b.csv").hasPrefix("time,x\n"))
        }
    }

    @Test func aFileThatWasRemovedIsAnAbsence() throws {
        try withTemporaryDirectory { directory in
            let session = try Self.made(in: directory)
            let file = session.record.logs[0].files[0]
            try RemovedFile.append(
                [
                    RemovedFile(
                        name: file.name, bytes: file.bytes, sha256: file.sha256, reason: "removeUploaded", date: .now)
                ],
                in: session.directory.directory)
            try Directory.removeFile(session.path.appending(file.name))
            let exported = try Exported(session.directory, to: directory.appending("out"), .csv)
            #expect(exported.outcome.samples == 50)
            #expect(exported.outcome.hasLoss)
            #expect(try exported.text("s1/gaps.tsv").contains("\tremoved\t\t\t50\n"))
        }
    }

    @Test func aFailureOfTheSessionIsALoss() throws {
        try withTemporaryDirectory { directory in
            let session = try Self.made(in: directory)
            var record = session.record
            record.note(failures: ["only the write-ahead log has 10 samples"])
            try session.directory.write(record)
            try session.directory.write(SessionReport(record))
            try session.directory.writeChecksums()
            let exported = try Exported(session.directory, to: directory.appending("out"), .csv)
            #expect(exported.outcome.samples == 100)
            #expect(exported.outcome.hasLoss)
        }
    }

    private static func twoStreams(in data: FilePath) throws -> MadeSession {
        let session = try MadeSession(in: data)
        for name in ["a/accelerometer", "a/b"] {
            try session.add(name)
            try session.sample(name, 0.1, "0,0,1")
        }
        try session.finish(at: 1)
        return session
    }

    /// A file that is not exported again would appear to belong to the new export.
    @Test(arguments: SessionExport.Format.allCases)
    func nothingOfTheExportThatIsReplacedStays(_ format: SessionExport.Format) throws {
        try withTemporaryDirectory { directory in
            let session = try Self.twoStreams(in: directory)
            let start = session.record.startDate
            try session.directory.add(Annotation(number: 1, label: "fall", from: start, date: start))
            let out = directory.appending("out")
            let first = try Exported(session.directory, to: out, format).files
            try session.directory.add(Annotation(number: 2, label: "", from: start, date: start, corrects: 1))
            let again = try Self.replaceByOneStream(of: session, in: out, format)
            if format != .xdf { #expect(try again.files.count < first.count) }
        }
    }

    /// Replaces an export by one of a single stream, and expects what an export to a new directory has.
    private static func replaceByOneStream(
        of session: MadeSession, in out: FilePath, _ format: SessionExport.Format
    ) throws -> Exported {
        let again = try Exported(session.directory, to: out, format) {
            $0.replaces = true
            $0.streams = ["a/b"]
        }
        let fresh = try Exported(session.directory, to: out.removingLastComponent().appending("fresh"), format) {
            $0.streams = ["a/b"]
        }
        #expect(try again.files == fresh.files)
        return again
    }

    @Test(arguments: [SessionExport.Format.csv, .bids])
    func nothingStaysIfTheReplacingExportWasInterrupted(_ format: SessionExport.Format) throws {
        try withTemporaryDirectory { directory in
            let session = try Self.twoStreams(in: directory)
            let out = directory.appending("out")
            let first = try Exported(session.directory, to: out, format).files
            var options = SessionExport.Options(format: format)
            options.replaces = true
            options.streams = ["a/b"]
            var calls = FileCalls.system
            calls.rename = { old, new throws(Errno) in
                if old.string.contains(".new/") { throw Errno.ioError }
                try FileCalls.system.rename(old, new)
            }
            let export = try SessionExport(session.directory, options, version: "0.0.0", calls: calls)
            #expect(throws: RecordingError.self) { try export.run(to: out) { _, _, _ in } }
            // As if the program had been killed before it removed any table.
            for (name, bytes) in first where !name.hasSuffix("provenance.json") {
                try bytes.write(to: URL(filePath: out.appending(name).string))
            }
            _ = try Self.replaceByOneStream(of: session, in: out, format)
        }
    }

    /// A person may edit the list of an export's files, or replace a file.
    @Test func filesThatTheReplacedExportDidNotWriteStay() throws {
        try withTemporaryDirectory { directory in
            let session = try Self.twoStreams(in: directory)
            let out = directory.appending("out")
            let first = try Exported(session.directory, to: out, .csv)
            func path(_ name: String) -> String { directory.appending(name).string }
            for name in ["outside", "elsewhere"] {
                try FileManager.default.createDirectory(atPath: path(name), withIntermediateDirectories: false)
                try Data("mine".utf8).write(to: URL(filePath: path("\(name)/mine.txt")))
            }
            try FileManager.default.createSymbolicLink(
                atPath: path("out/link"), withDestinationPath: path("elsewhere"))
            try FileManager.default.createSymbolicLink(
                atPath: path("out/mine.txt"), withDestinationPath: path("elsewhere/mine.txt"))
            let hash = FinishedFile.sha256(of: Array("mine".utf8))
            // A listed file is removed, even if it is listed twice.
            try Data("mine".utf8).write(to: URL(filePath: path("out/s1/listed.txt")))
            let names = [
                "../outside/mine.txt", path("outside/mine.txt"), "link/mine.txt", "mine.txt", "s1", "", "..",
                "s1/listed.txt", "s1/listed.txt", "s1//listed.txt",
            ]
            let entries = names.map { #"{"name":"\#($0)","bytes":4,"sha256":"\#(hash)"},"# }.joined()
            let list = try first.text("s1/provenance.json")
            let place = try #require(list.range(of: #""outputs"\s*:\s*\["#, options: .regularExpression))
            let edited = list.replacingCharacters(in: place, with: #""outputs":["# + entries)
            try Data(edited.utf8).write(to: URL(filePath: path("out/s1/provenance.json")))
            let changed = "time,x,y,z\nby hand\n"
            try Data(changed.utf8).write(to: URL(filePath: path("out/s1/a_accelerometer.csv")))

            let again = try Exported(session.directory, to: out, .csv) {
                $0.replaces = true
                $0.streams = ["a/b"]
            }
            for name in ["outside/mine.txt", "elsewhere/mine.txt", "out/link/mine.txt", "out/mine.txt"] {
                #expect(FileManager.default.contents(atPath: path(name)) == Data("mine".utf8), "\(name)")
            }
            #expect(try again.text("s1/a_accelerometer.csv") == changed)
            #expect(!FileManager.default.fileExists(atPath: path("out/s1/listed.txt")))
            // If the list cannot be read, nothing is removed.
            try Data("{}".utf8).write(to: URL(filePath: path("out/s1/provenance.json")))
            let last = try Exported(session.directory, to: out, .csv) {
                $0.replaces = true
                $0.streams = ["a/accelerometer"]
            }
            #expect(try last.text("s1/a_b.csv") == again.text("s1/a_b.csv"))
        }
    }

    @Test func chosenStreamsAloneAreExported() throws {
        try withTemporaryDirectory { directory in
            let session = try MadeSession(in: directory)
            for name in ["a/b", "a/c", "d/e"] {
                try session.add(name, fields: ["x"])
                try session.sample(name, 0.1, "1")
            }
            try session.finish(at: 1)
            let exported = try Exported(session.directory, to: directory.appending("out"), .csv) {
                $0.streams = ["a/c", "d/"]
            }
            #expect(try Set(exported.files.keys).isSuperset(of: ["s1/a_c.csv", "s1/d_e.csv"]))
            #expect(try exported.files["s1/a_b.csv"] == nil)
            let error = #expect(throws: RecordingError.self) {
                try Exported(session.directory, to: directory.appending("out2"), .csv) { $0.streams = ["x/y"] }
            }
            #expect(error?.description.contains("It has a/b, a/c, d/e.") == true)
        }
    }
}

/// Makes one system call fail: the n-th write, sync or rename.
private final class Fault: @unchecked Sendable {
    // Not synchronized: an export makes its calls on one thread.
    private var rest: Int
    private let errno: Errno

    init(at number: Int, noSpace: Bool) {
        rest = number
        errno = noSpace ? .noSpace : .ioError
    }

    var wasHit: Bool { rest < 0 }

    private func pass() throws(Errno) {
        rest -= 1
        if rest == -1 { throw errno }
    }

    var calls: FileCalls {
        var calls = FileCalls.system
        let system = FileCalls.system
        calls.write = { descriptor, bytes, offset throws(Errno) in
            try self.pass()
            return try system.write(descriptor, bytes, offset)
        }
        calls.syncAll = { descriptor throws(Errno) in
            try self.pass()
            try system.syncAll(descriptor)
        }
        calls.rename = { old, new throws(Errno) in
            try self.pass()
            try system.rename(old, new)
        }
        return calls
    }
}
