import Messages
import Recording
import Testing

/// What was answered in a session is kept with it, or whoever sent it hears that it is not.
@Suite(.timeLimit(.minutes(1)))
struct ResultsTests {
    private static func results(_ answer: Int) -> JSONValue {
        .object(["stepHistory": .array([.object(["identifier": .string("age"), "value": .integer(answer)])])])
    }

    @Test func resultsAreKeptWithTheSession() async throws {
        let publisher = try await FakePublisher()
        try await RecorderUnderTest.run(listeningTo: [publisher]) { recorder in
            try await recorder.start("s", publisher)
            let malformed = RecordingStop(session: "s", results: .array([]))
            #expect(try await recorder.refusal(malformed) == "invalidParameter")
            let state = try await recorder.sendBeside(RecordingStatus(session: "s"))
            #expect(state.status == "running")
            let stop = RecordingStop(session: "s", results: Self.results(42))
            _ = try await recorder.sendBeside(stop)
            let record = try SessionDirectory.open(SessionIdentifier("s"), in: recorder.data).record()
            #expect(record.results == Self.results(42))
            // A repeat, whose first answer may have been lost, is none; other results are too late.
            _ = try await recorder.sendBeside(stop)
            #expect(try await recorder.refusal(RecordingStop(session: "s", results: Self.results(43))) == "finished")
            let end = try await recorder.sendBeside(RecordingStop(session: "s"))
            #expect(end.status == "finished")
        }
    }
}
