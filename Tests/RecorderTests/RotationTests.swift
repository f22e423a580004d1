import Files
import FoundationEssentials
import Messages
import Recording
import SystemPackage
import TestSupport
import Testing

/// Logs that continue in new files during the recording.
@Suite(.timeLimit(.minutes(1)))
struct RotationTests {
    @Test(arguments: ["json", "csv", "tsv"])
    func aLargeLogGoesOnInNewFiles(format: String) async throws {
        let publisher = try await FakePublisher()
        try await RecorderUnderTest.run(listeningTo: [publisher]) { recorder in
            try await recorder.start("s", publisher, format: format, step: "out", maximumFileSize: 2_000)
            try await recorder.prime(publisher)
            // A log does not rotate again while finished files still wait for completion.
            func sample() async throws {
                try publisher.sample(3)
                try await recorder.hasAll(of: publisher)
                let log = try #require(try await recorder.log(of: publisher))
                try await eventually("files at their end") {
                    let names = try recorder.directory().directory.names()
                    let files = names.filter { $0.hasPrefix("phone_accelerometer") }
                    // A file may be renamed at this moment.
                    let bytes = files.compactMap { try? FinishedFile.measure(recorder.path($0)).bytes }.reduce(0, +)
                    return bytes >= log.bytes && files.count - 1 <= recorder.events.segments.count
                }
            }
            for _ in 0..<20 { try await sample() }
            _ = try await recorder.send(RecordingMoveTo(session: "s", step: "back"))
            for _ in 0..<20 { try await sample() }
            let result = try await recorder.stop()
            #expect(result.report.isWhole)
            let log = try #require(result.logs.first)
            #expect(log.files.count >= 4)
            #expect(log.samples == publisher.next)
            #expect(try await recorder.records().sequences == Array(0..<publisher.next))

            var next = 0
            for (index, name) in log.files.enumerated() {
                let path = try recorder.path(name)
                let records = try LogItem.read(path)
                // Each file describes itself: its stream, its first sample, its step.
                let first = try #require(records.first)
                #expect(first.marker == (index == 0 ? "start" : "step"))
                #expect(first.epoch == publisher.epoch && first.from == next)
                #expect(records.sequences.first ?? next == next)
                if let sample = records.firstIndex(where: \.isSample) {
                    #expect(records[sample].stepPath == records[sample - 1].stepPath)
                }
                next += records.sequences.count
                let bytes = try FinishedFile.measure(path).bytes
                // The limit may be exceeded by at most one batch.
                #expect(bytes < 2_000 + 1_500)
                #expect(index == log.files.count - 1 || bytes >= 2_000)
            }
            // In the order in which they were finished.
            let names = try log.files.map { try #require(FinishedName($0, of: LogName(log.name))) }
            #expect(names == names.sorted())

            try await recorder.events.recording(.report)
            let segments = recorder.events.segments
            #expect(segments.map(\.sequence) == Array(0..<log.files.count))
            for segment in segments {
                let (bytes, digest) = try FinishedFile.measure(recorder.data.appending(segment.path))
                #expect(segment.bytes == bytes && segment.sha256 == digest)
            }
            #expect(segments.map(\.samples).reduce(0, +) == log.samples)
        }
    }

    @Test func filesAreFinishedWhenSomebodyAsks() async throws {
        let phone = try await FakePublisher()
        let wrist = try await FakePublisher(StreamName(device: "left-wrist", stream: "gyro"))
        try await RecorderUnderTest.run(listeningTo: [phone, wrist]) { recorder in
            try await recorder.start("s", phone, wrist)
            for publisher in [phone, wrist] {
                try await recorder.prime(publisher)
                try publisher.sample(3)
                try await recorder.hasAll(of: publisher)
            }
            let reply = try await recorder.send(LogsFinish(name: "left-*"))
            let path = try #require(reply.files.first)
            #expect(reply.files.count == 1 && path.contains("recordings/s/left-wrist_gyro-2"))
            #expect(try LogItem.read(recorder.data.appending(path)).sequences == Array(0..<wrist.next))
            // A client that gets the answer may remove the file.
            let listed = try recorder.directory().record().logs.flatMap(\.files).map(\.name)
            #expect(listed.count == 1 && path.hasSuffix(listed[0]))
            // There is nothing new to finish.
            #expect(try await recorder.send(LogsFinish(name: "left-*")).files.isEmpty)
            #expect(try await recorder.send(LogsFinish(session: "s")).files.count == 1)
            for (request, reason) in [
                (LogsFinish(name: "no name"), "invalidParameter"), (LogsFinish(name: "watch_*"), "unknownLog"),
                (LogsFinish(session: "t"), "unknownSession"),
            ] {
                #expect(try await recorder.refusal(request) == reason)
            }
            let result = try await recorder.stop()
            #expect(result.report.isWhole && result.logs.allSatisfy { $0.files.count == 2 })
        }
    }

    @Test func anOldLogGoesOnInANewFileAlsoWhenNothingArrives() async throws {
        let publisher = try await FakePublisher()
        try await RecorderUnderTest.run(listeningTo: [publisher]) { recorder in
            try await recorder.start("s", publisher, maximumFileAge: 1)
            try await recorder.prime(publisher)
            // One file, or more if the first samples were slow to arrive.
            try await eventually("the first file's end") {
                recorder.events.segments.reduce(0) { $0 + $1.samples } == publisher.next
            }
            let count = recorder.events.segments.count
            // A file without samples never reaches its maximum age.
            let empty = try recorder.path("phone_accelerometer.json")
            #expect(try LogItem.read(empty).markers == ["step"])
            try publisher.sample(2)
            try await eventually("the second file's end") { recorder.events.segments.count == count + 1 }
            let result = try await recorder.stop()
            #expect(result.logs.first?.files.count == count + 2)
            #expect(try await recorder.records().sequences == Array(0..<publisher.next))
        }
    }

    @Test func aPauseIsKnownInEachFile() async throws {
        let publisher = try await FakePublisher()
        try await RecorderUnderTest.run(listeningTo: [publisher]) { recorder in
            try await recorder.start("s", publisher, maximumFileSize: 500)
            try await recorder.prime(publisher)
            try publisher.sample(5)
            try await recorder.hasAll(of: publisher)
            let before = publisher.next
            _ = try await recorder.send(RecordingPause(session: "s"))
            try publisher.sample(5)
            _ = try await recorder.send(RecordingResume(session: "s"))
            try publisher.sample(5)
            try await recorder.has(before + 5, of: publisher)
            let report = try await recorder.stop().report
            #expect(report.isWhole)
            #expect(report.streams.first?.paused == 5)
            let sequences = Array(0..<before) + Array(before + 5..<before + 10)
            #expect(try await recorder.records().sequences == sequences)
        }
    }
}
