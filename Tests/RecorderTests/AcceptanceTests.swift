import Files
import FoundationEssentials
import Messages
import Recording
import SystemPackage
import TestSupport
import Testing
import ZeroMQ

/// The ancestors' test cases that concern the recorder's decisions, with their numbers in SEEDS.
@Suite(.timeLimit(.minutes(1)))
struct AcceptanceTests {
    /// Ours: a log exists once its stream does; a session whose stream never appears has none.
    @Test func case1WithoutAStreamThereIsNoFile() async throws {
        try await RecorderUnderTest.run { recorder in
            let started = try await recorder.start("s", streams: ["watch/accelerometer"])
            #expect(started.logs.isEmpty)
            #expect(try Self.logs(of: recorder).isEmpty)
            #expect(try await recorder.stop().logs.isEmpty)
            #expect(try Self.logs(of: recorder).isEmpty)
        }
    }

    /// Ours: a file is finished when it reaches the size limit; later records go into the next file.
    @Test func case9AFileThatHasReachedItsSizeIsFinished() async throws {
        let publisher = try await FakePublisher()
        let limit = 1_500
        try await RecorderUnderTest.run(listeningTo: [publisher]) { recorder in
            // Another session makes sure that no replay is needed, which would deliver several samples at once.
            try await recorder.start("first", publisher)
            try await recorder.prime(publisher, session: "first")
            let first = publisher.next
            try await recorder.start("s", publisher, maximumFileSize: limit)
            let name = LogName("phone_accelerometer")
            var finished: [FinishedName] = []
            while finished.count < 2 {
                let before = finished
                try publisher.sample()
                let count = publisher.next - first
                try await recorder.has(count, of: publisher)
                // Files are written a little later, and finished a little later still.
                try await eventually("the samples in the files, and a file that has its size finished") {
                    guard (try? await recorder.records())?.sequences.count == count else { return false }
                    // Between two files there is no current file for a moment.
                    return (try? Self.size(recorder.path("phone_accelerometer.json"))) ?? 0 < limit
                }
                // A file gets its final name a moment after its last record; between two files there is no current file.
                try await eventually("a file that has not reached its size") {
                    (try? Self.size(recorder.path("phone_accelerometer.json"))) ?? 0 < limit
                }
                finished = try Self.logs(of: recorder).compactMap { FinishedName($0, of: name) }.sorted()
                #expect(finished.count <= before.count + 1)
                for file in finished { #expect(try Self.size(recorder.path(file.description)) >= limit) }
            }
            // No file is longer than necessary: without its last record it would be below the limit.
            for file in finished {
                let path = try recorder.path(file.description)
                let lines = try Data(contentsOf: URL(filePath: path.string)).split(separator: UInt8(ascii: "\n"))
                // The bracket closes the line after the last record.
                let last = try #require(lines.dropLast().last)
                #expect(try Self.size(path) - last.count - ",\n".utf8.count < limit)
            }
            _ = try await recorder.stop()
            #expect(try await recorder.records().sequences == Array(first..<publisher.next))
        }
    }

    /// Ours: the first write to a log is its start marker, when its stream is first seen.
    @Test func case10AFileIsOpenedWhenItsStreamComes() async throws {
        let publisher = try await FakePublisher()
        let late = try await FakePublisher(StreamName(device: "phone", stream: "gyro"))
        try await RecorderUnderTest.run(listeningTo: [publisher, late]) { recorder in
            try await recorder.start("s", publisher, streams: ["phone/"])
            try await eventually("the first stream's file") {
                try Self.logs(of: recorder) == ["phone_accelerometer.json"]
            }
            try await recorder.describing([late]) {
                try await eventually("the late stream's log") { try await recorder.status().logs.count == 2 }
            }
            try await eventually("the late stream's marker in its file") {
                try Self.logs(of: recorder) == ["phone_accelerometer.json", "phone_gyro.json"]
                    && LogItem.read(recorder.path("phone_gyro.json")).markers == ["start"]
            }
        }
    }

    /// Ours: a file that has reached its maximum age is kept until it contains a sample.
    @Test func case11AFileWithoutSamplesIsNotFinished() async throws {
        let publisher = try await FakePublisher()
        try await RecorderUnderTest.run(listeningTo: [publisher]) { recorder in
            try await recorder.describing([publisher]) {
                _ = try await recorder.send(
                    RecordingStart(session: "s", streams: [publisher.name.description], maximumFileAge: 1))
            }
            let age = ContinuousClock.now + .milliseconds(1_200)
            try await eventually("the file's age") { ContinuousClock.now > age }
            #expect(try Self.logs(of: recorder) == ["phone_accelerometer.json"])
            #expect(recorder.events.segments.isEmpty)
            try await recorder.prime(publisher)
            // One file, or more if the samples were slow to arrive.
            try await eventually("the first finished file") {
                recorder.events.segments.reduce(0) { $0 + $1.samples } == publisher.next
            }
            #expect(recorder.events.segments.allSatisfy { $0.samples > 0 })
            // The next file is empty again, and stays open while it is.
            #expect(try Self.logs(of: recorder).count == recorder.events.segments.count + 1)
            let result = try await recorder.stop()
            #expect(result.report.isWhole)
            #expect(try await recorder.records().sequences == Array(0..<publisher.next))
        }
    }

    /// `UptimeClock` has tests of its own for the clock's cases; this one checks the timestamps in a log.
    @Test func case35ASleepOfThePublisherIsInTheTimestamps() async throws {
        try await RecorderUnderTest.record { recorder, publisher in
            try publisher.describe { $0.clock.elapsed = $0.clock.uptime + 100 }
            try publisher.sample(2)
            try await recorder.hasAll(of: publisher)
            let before = publisher.next
            let now = Double(MonotonicClock.now) / 1e9
            // Five minutes of sleep, noticed right before the next sample.
            try publisher.describe { description in
                description.clock.uptime = now
                description.clock.elapsed = now + 100 + 300
            }
            try publisher.sample(3, uptime: now + 0.25)
            // A late sample, from before the sleep.
            try publisher.sample(uptime: now - 0.25)
            try await recorder.hasAll(of: publisher)
            _ = try await recorder.stop()
            let samples = try await recorder.records().filter(\.isSample)
            let offset = samples[0].timestamp - samples[0].uptime
            let slept = samples.map { (($0.timestamp - $0.uptime - offset) * 1e3).rounded() / 1e3 }
            #expect(slept == [Double](repeating: 0, count: before) + [300, 300, 300, 0])
        }
    }

    /// Ours: a session that was never started cannot be stopped; it may be started afterwards.
    @Test func case57AStopBeforeTheStartLeavesNothing() async throws {
        let publisher = try await FakePublisher()
        try await RecorderUnderTest.run(listeningTo: [publisher]) { recorder in
            #expect(try await recorder.refusal(RecordingStop(session: "s")) == "unknownSession")
            #expect(try await recorder.refusal(RecordingCancel(session: "s")) == "unknownSession")
            let sessions = recorder.data.appending("recordings")
            let names = (try? FileManager.default.contentsOfDirectory(atPath: sessions.string)) ?? []
            #expect(names.allSatisfy { $0.hasPrefix(".") })
            #expect(recorder.events.recordings.isEmpty)
            try await recorder.start("s", publisher)
            #expect(try await recorder.stop().status == "finished")
        }
    }

    private static func logs(of recorder: RecorderUnderTest) throws -> [String] {
        try recorder.directory().directory.names().filter { $0.hasPrefix("phone_") || $0.hasPrefix("watch_") }.sorted()
    }

    private static func size(_ path: FilePath) throws -> Int {
        try Data(contentsOf: URL(filePath: path.string)).count
    }
}
