import FoundationEssentials
import MessageBus
import Messages
import SystemPackage
import TestSupport
import Testing

/// Replayed recordings are recorded exactly: every sample once, in order, to the printed digit.
@Suite(.timeLimit(.minutes(5)))
struct ReplayTests {
    /// The labelled walks beside the checkout, if available.
    private static let walks: [FilePath] = {
        let root = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(3).joined(separator: "/")
        let folder = "\(root)/../shared/steps/open/oxford_opt"
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return names.filter { $0.hasSuffix(".csv.gz") }.sorted().map { FilePath("\(folder)/\($0)") }
    }()

    @Test(
        .enabled(
            if: !walks.isEmpty, "the labelled walks, ../shared/steps/open/oxford_opt, are not beside this checkout"))
    func everyLabelledWalkIsRecordedToThePrintedDigit() async throws {
        // Two at a time: each takes two processes, and there may be only two cores.
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, walk) in Self.walks.enumerated() {
                if index >= 2 { try await group.next() }
                group.addTask {
                    let source = try await SourceFile(gzip: walk)
                    try await expectRecorded(source, replaying: walk, format: index % 2 == 0 ? "json" : "csv")
                }
            }
            try await group.waitForAll()
        }
    }

    @Test(arguments: ["json", "csv", "tsv"])
    func aReplayedFileIsRecordedToThePrintedDigit(format: String) async throws {
        var text = "t,x,y,z\n"
        for row in 0..<5_000 {
            // Jittered times and two decimals, as from phones.
            let time = Double(row * 10 + row * row % 7) / 1_000
            text += "\(time),\(Double(row % 400 - 200) / 100),\(Double(row * 7 % 981) / 100),\(-Double(row % 3))\n"
        }
        try await withTemporaryDirectory { directory in
            let path = directory.appending("walk.csv")
            try text.write(toFile: path.string, atomically: true, encoding: .utf8)
            try await expectRecorded(SourceFile(csv: text), replaying: path, format: format)
        }
    }

    @Test func theEmbeddedWalkIsRecordedWhole() async throws {
        let publishing = ["--signal", "walk:placement=wrist,cadence=1.8,seed=1", "--rate", "200", "--device", "wrist"]
        try await Rig.run(publishing: publishing) { rig in
            try await rig.start(RecordingStart(session: "walk", task: "Walk", step: "out", streams: ["wrist/"]))
            try await eventually("300 samples") {
                try await rig.recordings.send(RecordingStatus(session: "walk"), timeout: .seconds(60))
                    .logs.contains { $0.samples >= 300 }
            }
            _ = try await rig.recordings.send(
                RecordingMoveTo(session: "walk", step: "back"), timeout: .seconds(60))
            try await eventually("600 samples") {
                try await rig.recordings.send(RecordingStatus(session: "walk"), timeout: .seconds(60))
                    .logs.contains { $0.samples >= 600 }
            }
            let result = try await rig.stop("walk")
            #expect(result.report.isWhole)
            let records = try LogItem.read(rig.onlyFile(of: result))
            #expect(records.compactMap(\.marker) == ["start", "step", "stop"])
            let samples = records.filter { $0.marker == nil }
            #expect(samples.count == result.report.streams.first?.received)
            // The samples lie on the grid of 200 Hz, each once: nothing is missing, doubled or out of order.
            for (before, after) in zip(samples, samples.dropFirst()) {
                #expect(((after.uptime - before.uptime) * 200).rounded(toPlaces: 5) == 1)
                #expect(((after.timestamp - before.timestamp) * 200).rounded(toPlaces: 5) == 1)
            }
            let step = try #require(records.firstIndex { $0.marker == "step" })
            #expect(records[..<step].allSatisfy { $0.stepPath == "Walk/out" })
            #expect(records.last?.stepPath == "Walk/back")
            #expect(samples.contains { $0.stepPath == "Walk/back" })
        }
    }

    private func expectRecorded(_ source: SourceFile, replaying path: FilePath, format: String) async throws {
        let publishing = ["--replay", path.string, "--speed", "50", "--start-stopped", "--device", "phone"]
        try await Rig.run(publishing: publishing) { rig in
            try await rig.start(RecordingStart(session: "replay", streams: ["phone/accelerometer"], format: format))
            try await rig.startStream("phone/accelerometer")
            #expect(try await rig.ended("phone/accelerometer").nextSequence == source.times.count)
            let result = try await rig.stop("replay")
            #expect(result.report.isWhole)
            #expect(result.report.streams.first?.received == source.times.count)
            let file = try rig.onlyFile(of: result)
            let samples = try Self.samples(file)
            try #require(samples.count == source.times.count)
            let start = samples[0][0] - source.times[0]
            for (index, sample) in samples.enumerated() {
                // A replayed sample has the publisher's start plus its own time in the file, to the file's digits.
                #expect((sample[0] - start - source.times[index]).rounded(toPlaces: 6) == 0)
                #expect(Array(sample[1...]) == source.rows[index])
            }
        }
    }

    /// Uptime, x, y and z of each sample.
    private static func samples(_ file: FilePath) throws -> [[Double]] {
        try LogItem.read(file).filter { $0.sensorType == "accelerometer" }.map { record in
            [record.uptime, try #require(record.x), try #require(record.y), try #require(record.z)]
        }
    }
}

extension Double {
    fileprivate func rounded(toPlaces places: Int) -> Double {
        let scale = (0..<places).reduce(1.0) { scale, _ in scale * 10 }
        return (self * scale).rounded() / scale
    }
}
