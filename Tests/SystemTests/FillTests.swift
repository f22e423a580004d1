import FoundationEssentials
import MessageBus
import Messages
import SystemPackage
import TestSupport
import Testing

/// A phone pushes its samples, some messages are lost, and the phone's own export fills the gaps, with the real programs.
@Suite(.timeLimit(.minutes(3)))
struct FillTests {
    /// The samples in a message, and the nanoseconds between two samples.
    private static let batch = 25
    private static let interval: Int64 = 20_000_000
    private static let platformStreams = ["accelerometer", "gravity", "gyroscope", "userAcceleration"]

    /// The sensors of an iPhone, which has no total acceleration.
    private struct Phone {
        /// Nanoseconds since 1970.
        let start: Int64

        func time(_ index: Int) -> Int64 { start + Int64(index) * FillTests.interval + Int64(index * 7_919 % 1_009) }

        /// x, y and z of a sensor.
        func values(_ sensor: String, _ index: Int) -> [Double] {
            let wave = (0..<3).map { axis in
                Double((index * (axis + 3) * 37 + sensor.utf8.count * 11) % 1_013) / 64 + Double(axis) / 7
            }
            return sensor == "gravity" ? [wave[0] / 99, -9.75, wave[2] / 31] : wave
        }

        static let sensors = [("accelerometer", "Accelerometer"), ("gravity", "Gravity"), ("gyroscope", "Gyroscope")]

        func message(_ number: Int) -> String {
            let readings = (number * FillTests.batch..<(number + 1) * FillTests.batch).flatMap { index in
                Self.sensors.map { sensor, _ in
                    let values = values(sensor, index)
                    return
                        #"{"name":"\#(sensor)","time":\#(time(index)),"values":{"z":\#(values[2]),"y":\#(values[1]),"x":\#(values[0])}}"#
                }
            }
            return
                #"{"messageId":\#(number),"sessionId":"s1","deviceId":"d1","payload":[\#(readings.joined(separator: ","))]}"#
        }

        func export(_ messages: Int, to directory: FilePath) throws {
            try FileManager.default.createDirectory(atPath: directory.string, withIntermediateDirectories: true)
            for (sensor, table) in Self.sensors {
                var text = "time,seconds_elapsed,z,y,x\n"
                for index in 0..<messages * FillTests.batch {
                    let values = values(sensor, index)
                    text += "\(time(index)),\(index),\(values[2]),\(values[1]),\(values[0])\n"
                }
                try Data(text.utf8).write(to: URL(filePath: directory.appending("\(table).csv").string))
            }
        }
    }

    private func push(_ message: String, to publisher: ProgramUnderTest) async throws {
        let line = try await publisher.line("where to push") { $0.contains("devices push to ") }
        let port = try #require(UInt16(line.split(separator: ":").last?.prefix { $0.isNumber } ?? ""))
        let request =
            "POST /sensor-logger HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nContent-Length: \(message.utf8.count)\r\n\r\n\(message)"
        let answer = try #require(try await WebClient.answer(request, port: port))
        #expect(answer.hasPrefix("HTTP/1.1 200"), "\(answer)")
    }

    private func run(
        _ arguments: [String], in directory: FilePath
    ) async throws -> (end: ProgramEnd, output: String, error: String) {
        try await ProgramUnderTest.run(
            executable: ProductsDirectory.executable("recorder"), arguments: arguments, in: directory
        ) { run in
            let end = try await run.end(within: .seconds(60))
            return (end, run.standardOutput, run.standardError)
        }
    }

    @Test func messagesThatWereLostAreFilledInFromThePhonesExport() async throws {
        try await Cutoff.run { cutoff in
            let phone = Phone(start: WallTime.now.nanosecondsSince1970)
            var directory = FilePath()
            var logs: [RecordingResult.Log] = []
            try await cutoff.recorder { _ in
                try await cutoff.publisher(["--listen-http", "0"]) { publisher in
                    try await push(phone.message(0), to: publisher)
                    try await cutoff.start(RecordingStart(session: "before", streams: ["d1/"]))
                    func recorded(_ samples: Int, in session: String) async throws {
                        try await eventually("\(samples) samples in \(session)") {
                            let status = try await cutoff.recordings.send(
                                RecordingStatus(session: session), timeout: .seconds(60))
                            return status.logs.count == Self.platformStreams.count
                                && status.logs.allSatisfy { $0.samples == samples }
                        }
                    }
                    // The session under test has all streams from its beginning.
                    try await eventually("the streams") {
                        try await cutoff.recordings.send(RecordingStatus(session: "before"), timeout: .seconds(60)).logs
                            .count == Self.platformStreams.count
                    }
                    _ = try await cutoff.stop("before")
                    try await cutoff.start(RecordingStart(session: "pushed", streams: ["d1/"]))
                    try await recorded(0, in: "pushed")
                    for number in [1, 2, 4, 7, 8] { try await push(phone.message(number), to: publisher) }
                    try await recorded(5 * Self.batch, in: "pushed")
                    let result = try await cutoff.stop("pushed")
                    #expect(result.report.streams.allSatisfy { $0.gaps.map(\.reason) == [.estimated, .estimated] })
                    directory = FilePath(result.directory)
                    logs = result.logs
                }
            }
            let data = cutoff.directory
            #expect(logs.count == Self.platformStreams.count)
            let lossy = try await run(["verify", directory.string], in: data)
            #expect(lossy.end == .exited(3), "\(lossy)")
            let export = data.appending("export")
            try phone.export(9, to: export)
            let dry = try await run(["fill", directory.string, export.string, "--dry-run"], in: data)
            #expect(dry.end == .exited(0), "\(dry)")
            #expect(dry.output.contains("would fill 300 samples; no gap is left"), "\(dry)")
            let filled = try await run(["fill", directory.string, export.string], in: data)
            #expect(filled.end == .exited(0), "\(filled)")
            #expect(filled.output.contains("d1/accelerometer: 75 samples in 2 gaps; no gap is left"), "\(filled)")
            let again = try await run(["fill", directory.string, export.string], in: data)
            #expect(again.end == .exited(0), "\(again)")
            #expect(again.output.contains("it has no gaps"), "\(again)")
            let whole = try await run(["verify", directory.string], in: data)
            #expect(whole.end == .exited(0), "\(whole)")
            let exported = try await run(
                [
                    "export", directory.string, "--to", data.appending("csv").string, "--format", "csv", "--clock",
                    "own",
                ],
                in: data)
            #expect(exported.end == .exited(0), "\(exported)")
            for stream in Self.platformStreams {
                let text = try String(
                    contentsOfFile: data.appending("csv/pushed/d1_\(stream).csv").string, encoding: .utf8)
                let rows = text.split(separator: "\n").dropFirst().map { line in
                    line.split(separator: ",").map { Double($0) ?? .nan }
                }
                let sensor = stream == "userAcceleration" ? "accelerometer" : stream
                let numbers = Self.batch..<(9 * Self.batch)
                let truth = numbers.map { index in
                    stream == "accelerometer"
                        ? zip(phone.values("accelerometer", index), phone.values("gravity", index)).map(+)
                        : phone.values(sensor, index)
                }
                #expect(rows.map { Array($0.suffix(3)) } == truth, "\(stream)")
                // The intervals are the phone's, to the nanosecond.
                let times = try #require(rows.first?.first)
                for (row, index) in zip(rows, numbers) {
                    let expected = Double(phone.time(index) - phone.time(numbers.lowerBound)) / 1e9
                    #expect(abs(row[0] - times - expected) < 1e-8, "\(stream) \(index)")
                }
            }
        }
    }
}
