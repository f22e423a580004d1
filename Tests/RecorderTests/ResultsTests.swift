import Files
import Messages
import Recording
import SessionOverview
import SystemPackage
import TestSupport
import Testing

/// Results sent during a session are kept with it, or their sender learns that they are not.
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
            for answer in [1, 2] {
                _ = try await recorder.sendBeside(RecordingSetResults(session: "s", results: Self.results(answer)))
            }
            let stop = RecordingStop(session: "s", results: Self.results(42))
            _ = try await recorder.sendBeside(stop)
            let record = try SessionDirectory.open(SessionIdentifier("s"), in: recorder.data).record()
            #expect(record.results == Self.results(42))
            // A repeat, whose first answer may have been lost, is accepted; different results are too late.
            _ = try await recorder.sendBeside(stop)
            #expect(try await recorder.refusal(RecordingStop(session: "s", results: Self.results(43))) == "finished")
            let end = try await recorder.sendBeside(RecordingStop(session: "s"))
            #expect(end.status == "finished")
        }
    }

    @Test func eachSessionThatEndsGetsAPageIfWanted() async throws {
        try await withTemporaryDirectory { directory in
            let reports = directory.appending("pages")
            let publisher = try await FakePublisher()
            try await RecorderUnderTest.run(
                listeningTo: [publisher], data: directory.appending("data"), reports: reports
            ) { recorder in
                try await recorder.start("s", publisher)
                try await recorder.prime(publisher)
                _ = try await recorder.sendBeside(RecordingStop(session: "s"))
                try await recorder.start("t", publisher)
                // The program's shutdown waits for the page of session `t`.
            }
            for name in ["s", "t"] {
                let session = try SessionDirectory.open(SessionIdentifier(name), in: directory.appending("data"))
                let page = try Directory(reports).read("\(name).html")
                #expect(try String(decoding: page, as: UTF8.self) == SessionPage.html(of: session))
            }
        }
    }

    @Test func theEncodedResultHasAnswersStepsAndFiles() async throws {
        let publisher = try await FakePublisher()
        try await RecorderUnderTest.run(listeningTo: [publisher]) { recorder in
            try await recorder.start("s", publisher, step: "out")
            try await recorder.prime(publisher)
            _ = try await recorder.send(RecordingMoveTo(session: "s", step: "back"))
            let early = RecordingResultRequest(session: "s", encoded: true)
            #expect(try await recorder.refusal(early) == "notRunning")
            let stopped = try await recorder.sendBeside(RecordingStop(session: "s", results: Self.results(42)))
            #expect(stopped.taskResult == nil)
            #expect(try await recorder.send(RecordingResultRequest(session: "s")).taskResult == nil)
            let result = try await recorder.send(RecordingResultRequest(session: "s", encoded: true))
            guard case .object(let task)? = result.taskResult, case .array(let files)? = task["asyncResults"],
                case .object(let file)? = files.first, case .array(let path)? = task["nodePath"]
            else { throw TestFailure("\(String(describing: result.taskResult))") }
            #expect(task["identifier"] == .string("Walk") && task["type"] == .string("task"))
            #expect(.object(["stepHistory": task["stepHistory"] ?? .null]) == Self.results(42))
            #expect(path == [.string("out"), .string("back")])
            #expect(files.count == 1)
            #expect(file["identifier"] == .string("phone_accelerometer"))
            #expect(file["relativePath"] == .string(result.logs[0].files[0]))
            #expect(file["contentType"] == .string("application/json"))
            var known = result
            known.taskResult = nil
            #expect(known == stopped)
        }
    }

    @Test func aSessionThatItsDurationEndedWaitsForItsResults() async throws {
        let publisher = try await FakePublisher()
        try await RecorderUnderTest.run(listeningTo: [publisher]) { recorder in
            let request = RecordingStart(
                session: "s", streams: [publisher.name.description], duration: 0.3, resultsWithin: 600)
            _ = try await recorder.describing([publisher]) { try await recorder.send(request) }
            try await eventually("the duration is over") {
                try await recorder.status().status == "processingResults"
            }
            _ = try await recorder.send(RecordingSetResults(session: "s", results: Self.results(1)))
            let end = try await recorder.sendBeside(RecordingStop(session: "s", results: Self.results(2)))
            #expect(end.status == "finished")
            let record = try SessionDirectory.open(SessionIdentifier("s"), in: recorder.data).record()
            #expect(record.results == Self.results(2))
            let late = RecordingSetResults(session: "s", results: Self.results(3))
            #expect(try await recorder.refusal(late) == "finished")
        }
    }

    @Test func aSessionWaitsNoLongerForResultsThanItWasTold() async throws {
        let publisher = try await FakePublisher()
        try await RecorderUnderTest.run(listeningTo: [publisher]) { recorder in
            let request = RecordingStart(
                session: "s", streams: [publisher.name.description], duration: 0.1, resultsWithin: 0.2)
            _ = try await recorder.describing([publisher]) { try await recorder.send(request) }
            try await eventually("the end") { try await recorder.status().status == "finished" }
        }
    }

    @Test func filesBelongToTheSession() async throws {
        try await RecorderUnderTest.record { recorder, _ in
            let directory = try recorder.directory()
            func add(_ text: String, at offset: Int, isLast: Bool) throws -> (bytes: Int, sha256: String?) {
                try directory.add(Array(text.utf8), to: "photo.jpg", at: offset, isLast: isLast)
            }
            #expect(try add("a photo", at: 0, isLast: false).bytes == 7)
            #expect(throws: RecordingError.self) { try add("!", at: 9, isLast: true) }
            let whole = try add(" of two", at: 7, isLast: true)
            #expect(whole.bytes == 14)
            // A repeat, whose first answer was lost.
            #expect(try add(" of two", at: 7, isLast: true).sha256 == whole.sha256)
            #expect(try directory.directory.read("photo.jpg") == Array("a photo of two".utf8))
            for name in ["", "../x", ".hidden", "session.json", "SHA256SUMS", "phone_gyro.json", "removed.ndjson"] {
                #expect(throws: RecordingError.self, "\(name)") {
                    try directory.add([1], to: name, at: 0, isLast: true)
                }
            }
            _ = try await recorder.stop()
            #expect(try directory.checksums()?["photo.jpg"] == whole.sha256)
        }
    }
}
