import Messages
import Recording
import ServiceKit
import TestSupport
import Testing

/// Sessions that record continuously and remove their old files.
@Suite(.timeLimit(.minutes(1)))
struct RingTests {
    /// Begins a session that keeps files for `keep` seconds.
    private static func start(
        _ recorder: RecorderUnderTest, _ publisher: FakePublisher, keep: Double = 1
    ) async throws {
        let request = RecordingStart(session: "s", streams: [publisher.name.description], keep: keep)
        let reply = try await recorder.describing([publisher]) { try await recorder.send(request) }
        #expect(reply.status == "running")
        #expect(try await recorder.status().configuration?.maximumFileAge == 1)
        try await recorder.prime(publisher)
    }

    /// Takes samples until the session has removed `count` files.
    private static func record(
        _ recorder: RecorderUnderTest, _ publisher: FakePublisher, until count: Int
    ) async throws -> [RemovedFile] {
        try await eventualValue("\(count) removed files") {
            try publisher.sample()
            let removed = try RemovedFile.read(in: recorder.directory().directory)
            return removed.count >= count ? removed : nil
        }
    }

    @Test func oldFilesAreRemovedListedAndTold() async throws {
        let publisher = try await FakePublisher()
        try await RecorderUnderTest.run(listeningTo: [publisher]) { recorder in
            try await Self.start(recorder, publisher)
            let removed = try await Self.record(recorder, publisher, until: 2)
            #expect(Set(removed.map(\.reason)) == ["keep"])
            let event = try await recorder.events.removal()
            #expect(event.path == "recordings/s/\(removed[0].name)")
            #expect(event.reason == "keep")
            #expect(event.bytes == removed[0].bytes)
            let result = try await recorder.stop()
            #expect(result.report.isWhole)
            let stream = try #require(result.report.streams.first)
            let session = try recorder.directory()
            let gone = try session.removedFiles()
            #expect(stream.removedFiles == gone.count)
            #expect((stream.removedSamples ?? 0) > 0)
            #expect(result.report.table.contains("removed by the ring"))
            let verification = session.verify()
            #expect(verification.verdict == .whole, "\(verification.findings)")
            #expect(verification.summary.contains("removed by the ring"), "\(verification.summary)")
            #expect(try session.summary().table.contains("removed by the ring"))
        }
    }

    @Test func whatIsKeptStays() async throws {
        let publisher = try await FakePublisher()
        try await RecorderUnderTest.run(listeningTo: [publisher]) { recorder in
            try await Self.start(recorder, publisher, keep: 8)
            let start = try #require(try await recorder.status().startDate)
            // The first samples are in the first file.
            let reply = try await recorder.send(RecordingKeep(session: "s"))
            #expect(reply.removed == nil)
            #expect(reply.from == start)
            #expect(reply.to > start)
            _ = try await Self.record(recorder, publisher, until: 1)
            let record = try recorder.directory().record()
            let files = try #require(record.logs.first).files
            #expect(files[0].removed == nil)
            #expect(try recorder.directory().isFile(files[0].name))
            let late = try await recorder.send(RecordingKeep(session: "s", from: start))
            #expect(late.removed != nil, "they are gone, and it says so")
            #expect(late.files.contains("recordings/s/\(files[0].name)"))
            #expect(try await recorder.stop().report.isWhole)
            #expect(try recorder.directory().verify().verdict == .whole)
        }
    }

    @Test func aTimeCanOnlyBeKeptInASessionWithARing() async throws {
        let publisher = try await FakePublisher()
        try await RecorderUnderTest.run(listeningTo: [publisher]) { recorder in
            try await recorder.start("s", publisher)
            #expect(try await recorder.refusal(RecordingKeep(session: "s")) == "invalidParameter")
            let now = WallTime.now
            #expect(
                try await recorder.refusal(RecordingStart(session: "t", streams: ["*"], keep: 0.5))
                    == "invalidParameter")
            _ = try await recorder.stop()
            #expect(try await recorder.refusal(RecordingKeep(session: "s", from: now, to: now)) == "finished")
        }
    }

    @Test func aTimeFromLongAgoKeepsAllFiles() async throws {
        let publisher = try await FakePublisher()
        try await RecorderUnderTest.run(listeningTo: [publisher]) { recorder in
            try await Self.start(recorder, publisher)
            let request = RecordingKeep(
                session: "s", from: try WallTime(iso8601: "1700-01-01T00:00:00Z"),
                to: try WallTime(iso8601: "2200-01-01T00:00:00Z"))
            _ = try await recorder.send(request)
            // The third file is finished more than a second after the first.
            let files = try await eventualValue("three finished files") {
                try publisher.sample()
                let files = try recorder.directory().record().logs.first?.files ?? []
                return files.count >= 3 ? files : nil
            }
            #expect(files.allSatisfy { $0.removed == nil })
            #expect(try await recorder.stop().report.isWhole)
        }
    }
}
