import Messages
import TestSupport
import Testing

/// The recorder's counters for a faulty stream, compared with the session's report.
@Suite(.timeLimit(.minutes(1)))
struct CountsTests {
    @Test func whatWentWrongIsCounted() async throws {
        try await RecorderUnderTest.record { recorder, publisher in
            publisher.set { $0.retention = 10 }
            try publisher.sample(25, isLost: true)
            try publisher.sample(4)
            try await Self.expect(19, "lost_samples", of: recorder)
            try publisher.publish(publisher.next - 2..<publisher.next)
            try await Self.expect(2, "duplicate_samples", of: recorder)
            _ = try await recorder.send(RecordingPause(session: "s"))
            try publisher.sample(3)
            try await Self.expect(3, "paused_samples", of: recorder)
            _ = try await recorder.send(RecordingResume(session: "s"))

            let stream = try #require(try await recorder.stop().report.streams.first)
            #expect((stream.lost, stream.duplicates, stream.paused) == (19, 2, 3))
            #expect(stream.gaps.count == 1 && stream.recovered >= 6)
            for (name, count) in [
                ("received_samples", stream.received), ("recovered_samples", stream.recovered),
                ("lost_samples", stream.lost), ("paused_samples", stream.paused),
                ("duplicate_samples", stream.duplicates), ("gaps", stream.gaps.count),
            ] {
                let counted = await Self.value(name, of: recorder)
                #expect(counted == Double(count), "\(name)")
            }
        }
    }

    /// An alert would take it for silent.
    @Test func aPausedStreamHasNoLastSample() async throws {
        try await RecorderUnderTest.record { recorder, _ in
            let name = "last_sample_timestamp_seconds{device=\"phone\",stream=\"accelerometer\"}"
            let before = await recorder.metric(name)
            _ = try await recorder.send(RecordingPause(session: "s"))
            let paused = await recorder.metric(name)
            _ = try await recorder.send(RecordingResume(session: "s"))
            let after = await recorder.metric(name)
            #expect(before != nil && paused == nil && after != nil)
        }
    }

    private static func expect(_ count: Int, _ name: String, of recorder: RecorderUnderTest) async throws {
        try await eventually("\(count) \(name)") { await value(name, of: recorder) == Double(count) }
    }

    private static func value(_ name: String, of recorder: RecorderUnderTest) async -> Double? {
        await recorder.metric("\(name)_total{device=\"phone\",stream=\"accelerometer\"}")
    }
}
