import FoundationEssentials
import MessageBus
import Messages
import SystemPackage
import TestSupport
import Testing

/// `recorder export` of sessions recorded by the real programs, read by common third-party readers.
@Suite(.timeLimit(.minutes(5)))
struct ExportTests {
    /// The values with which Tests/ExportTests/Readers/read.py compares.
    private struct Expected: Codable {
        struct Stream: Codable {
            var fields = ["x", "y", "z"]
            var types = ["number", "number", "number"]
            var unit: String
            var rate: Double
            var samples: [[JSONValue]] = []
            var gaps: [[Int]] = []
        }

        struct Imu: Codable {
            var topic = "/phone/imu"
            var accelerometer = "phone/accelerometer"
            var without: Int
        }

        var session = "walk"
        var task = "Walk"
        var start: Int
        var events: [String]
        var streams: [String: Stream]
        var imu: Imu
    }

    private static let formats = ["csv", "bids", "mcap", "xdf"]

    @Test func aSessionWithRotatedFilesAndAPauseIsExported() async throws {
        try await Rig.run(
            publishing: ["--signal", "walk", "--rate", "100", "--batch", "5", "--device", "phone"]
        ) { rig in
            try await rig.start(
                RecordingStart(session: "walk", task: "Walk", step: "out", streams: ["phone/"], maximumFileSize: 16_384)
            )
            let directory = rig.directory.appending("recordings/walk")
            try await Self.samples(150, in: rig)
            _ = try await rig.recordings.send(RecordingPause(session: "walk"), timeout: .seconds(60))
            try await rig.publishedMore(50)
            _ = try await rig.recordings.send(RecordingResume(session: "walk"), timeout: .seconds(60))
            try await Self.samples(200, in: rig)

            // An export of the running session has its samples so far.
            let running = try await Self.export(directory, to: rig.directory.appending("running"), "csv")
            #expect(running.end == .exited(0), "\(running)")
            let soFar = try Self.rows(rig.directory.appending("running/walk/phone_accelerometer.csv"))
            #expect(soFar.count >= 200)

            _ = try await rig.recordings.send(RecordingMoveTo(session: "walk", step: "back"), timeout: .seconds(60))
            try await Self.samples(300, in: rig)
            let result = try await rig.stop("walk")
            let log = try #require(result.logs.first)
            #expect(log.files.count > 2)
            #expect(try await Self.recorder("verify", directory.string).end == .exited(0))

            // A copy is exported to the same bytes as the session itself.
            let copy = rig.directory.appending("copy")
            try FileManager.default.copyItem(atPath: directory.string, toPath: copy.string)
            // Both have one name: the second would replace the first.
            let both = rig.directory.appending("both")
            let refused = try await Self.export(directory, to: both, "csv", "--replace", copy.string)
            #expect(refused.end == .exited(1))
            #expect(refused.error.contains("same name, walk"))
            #expect(!FileManager.default.fileExists(atPath: both.string))
            let out = rig.directory.appending("out")
            for format in Self.formats {
                let answer = try await Self.export(directory, to: out.appending(format), format)
                #expect(answer.end == .exited(0), "\(answer)")
                #expect(answer.output.hasPrefix("walk: \(log.samples) samples, "))
                let again = try await Self.export(directory, to: out.appending(format), format)
                #expect(again.end == .exited(1))
                #expect(again.error.contains("--replace"))
                let copied = try await Self.export(copy, to: rig.directory.appending("copied/\(format)"), format)
                #expect(copied.end == .exited(0))
                let difference = try await Tool.run(
                    "diff", ["-r", out.appending(format).string, rig.directory.appending("copied/\(format)").string])
                #expect(difference.isSuccess, "\(difference.output)")
            }

            // Every sample of the files, in order.
            let records = try log.files.flatMap { try LogItem.read(directory.appending($0)) }
            let rows = try Self.rows(out.appending("csv/walk/phone_accelerometer.csv"))
            #expect(Array(rows.prefix(soFar.count)).map(\.values) == soFar.map(\.values))
            let samples = records.filter(\.isSample)
            #expect(rows.map(\.values) == samples.map { [$0.x, $0.y, $0.z] })

            guard Readers.areInstalled else { return }
            let startDate = try WireCoding.decode(
                Report.self, from: Data(contentsOf: URL(filePath: directory.appending("report.json").string))
            ).startDate
            var expected = Expected(
                start: Int(startDate.nanosecondsSince1970), events: ["start", "pause", "resume", "step", "stop"],
                streams: ["phone/accelerometer": Expected.Stream(unit: "g", rate: 100)],
                imu: Expected.Imu(without: rows.count))
            var number = 0
            var index = 0
            var isPaused = false
            for record in records {
                if let from = record.from { number = from }
                if record.marker == "position" { isPaused = true }
                guard record.isSample else { continue }
                let row = rows[index]
                let time = Int(row.time) - expected.start
                if isPaused, index > 0 {
                    expected.streams["phone/accelerometer"]?.gaps.append([
                        Int(rows[index - 1].time) - expected.start, time,
                    ])
                    isPaused = false
                }
                expected.streams["phone/accelerometer"]?.samples.append(
                    [.integer(time), .integer(number)] + row.values.map { $0.map { .number($0) } ?? .null })
                number += 1
                index += 1
            }
            let bids = try await Self.export(
                directory, to: out.appending("bids2"), "bids", "--subject", "07", "--run", "2")
            #expect(bids.end == .exited(0))
            let file = rig.directory.appending("expected.json")
            try Data(WireCoding.encode(expected)).write(to: URL(filePath: file.string))
            let paths = ["csv", "bids2", "mcap", "xdf"].map { out.appending($0).string }
            let output = try await Readers.run("read.py", paths + [file.string])
            #expect(output.contains("actipy: phone/accelerometer"), "\(output)")
        }
    }

    private struct Report: Decodable { var startDate: WallTime }

    /// Waits until the session has `count` more samples.
    private static func samples(_ count: Int, in rig: Rig) async throws {
        let now = try await rig.recordings.send(RecordingStatus(session: "walk"), timeout: .seconds(60))
        let target = now.logs.reduce(0) { $0 + $1.samples } + count
        try await eventually("\(count) samples more", within: .seconds(60)) {
            let state = try await rig.recordings.send(RecordingStatus(session: "walk"), timeout: .seconds(60))
            return state.logs.reduce(0) { $0 + $1.samples } >= target
        }
    }

    private static func export(
        _ session: FilePath, to directory: FilePath, _ format: String, _ options: String...
    ) async throws -> (end: ProgramEnd, output: String, error: String) {
        try await recorder(
            ["export", session.string, "--to", directory.string, "--format", format] + options)
    }

    private static func recorder(_ arguments: String...) async throws -> (
        end: ProgramEnd, output: String, error: String
    ) {
        try await recorder(arguments)
    }

    private static func recorder(
        _ arguments: [String]
    ) async throws -> (end: ProgramEnd, output: String, error: String) {
        try await ProgramUnderTest.run("recorder", arguments: arguments) { program in
            let end = try await program.end()
            return (end, program.standardOutput, program.standardError)
        }
    }

    /// The rows of a table: nanoseconds since 1970, and values.
    private static func rows(_ path: FilePath) throws -> [(time: Int64, values: [Double?])] {
        try String(contentsOfFile: path.string, encoding: .utf8).split(separator: "\n").dropFirst().map { line in
            let cells = line.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
            let date = try WallTime(iso8601: cells[0].replacing(" ", with: "T"))
            return (date.nanosecondsSince1970, cells.dropFirst().map { Double($0) })
        }
    }
}

extension Rig {
    /// Waits until the publisher has published `count` more samples.
    fileprivate func publishedMore(_ count: Int) async throws {
        func published() async throws -> Int {
            try await streams.send(StreamsList(), timeout: .seconds(60)).streams.first?.nextSequence ?? 0
        }
        let target = try await published() + count
        try await eventually("\(count) samples more", within: .seconds(60)) { try await published() >= target }
    }
}
