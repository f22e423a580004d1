import Files
import Messages
import Recording
import TestSupport
import Testing

/// Annotations as a recorder accepts them.
@Suite(.timeLimit(.minutes(1)))
struct AnnotationTests {
    @Test func anAnnotationIsInTheEventTheFilesTheReportAndTheRecord() async throws {
        try await RecorderUnderTest.record { recorder, publisher in
            let start = try #require(try await recorder.status().startDate)
            let request = RecordingAnnotate(session: "s", label: "fall", from: start, note: "on the stairs")
            let reply = try await recorder.send(request)
            #expect(reply.annotation.number == 1)
            #expect(reply.annotation.from == start)
            #expect(try await recorder.send(request) == reply, "it is the same one")
            let event = try await recorder.events.recording(.annotation)
            #expect(event.annotation == reply.annotation)
            let other = try await recorder.send(RecordingAnnotate(session: "s", label: "sit"))
            #expect(other.annotation.number == 2)

            let end = try await recorder.stop()
            #expect(end.report.annotations?.map(\.label) == ["fall", "sit"])
            #expect(end.report.isWhole)
            let markers = try await recorder.records().filter { $0.marker == "annotation" }
            #expect(markers.map(\.reason) == ["fall", "sit"])
            #expect(markers.first?.timestamp == 0)

            // The session is over and still accepts annotations.
            let late = try await recorder.sendBeside(
                RecordingAnnotate(session: "s", label: "stand", note: "from the video", corrects: 2))
            #expect(late.annotation.number == 3)
            _ = try await recorder.events.recording(.annotation) { $0.annotation == late.annotation }
            #expect(try await recorder.refusal(RecordingAnnotate(session: "s", label: "late")) == "invalidParameter")
            let directory = try recorder.directory()
            #expect(directory.verify().findings == [])
            let all = try directory.annotations(of: directory.record())
            #expect(Annotation.valid(in: all).map(\.label) == ["fall", "stand"])
        }
    }
}
