import Messages
import Recording
import TestSupport
import Testing

/// Streams that are recorded only in some steps, and streams that are paused individually.
@Suite(.timeLimit(.minutes(1)))
struct SingleStreamTests {
    private let watch = StreamName(device: "watch", stream: "accelerometer")

    @Test func aStreamIsRecordedInItsStepsAlone() async throws {
        let publishers = [try await FakePublisher(), try await FakePublisher(watch)]
        try await RecorderUnderTest.run(listeningTo: publishers) { recorder in
            var request = RecordingStart(session: "s", task: "Walk", step: "rest", streams: [], maximumFileSize: 2_000)
            request.streams = [StreamChoice("phone/"), StreamChoice("watch/", fromStep: "walk", toStep: "turn")]
            let started = try await recorder.describing(publishers) { [request] in try await recorder.send(request) }
            #expect(started.logs.map(\.paused) == [nil, true])
            let (phone, watch) = (publishers[0], publishers[1])
            try await recorder.prime(phone)
            let before = watch.next
            try watch.sample(30)
            let first = watch.next
            var state = try await recorder.send(RecordingMoveTo(session: "s", step: "walk"))
            #expect(state.logs.map(\.paused) == [nil, nil])
            // Earlier samples have arrived or are requested: in either case, the recording begins with the step.
            try watch.sample(20)
            _ = try await recorder.send(RecordingMoveTo(session: "s", step: "turn"))
            try watch.sample(10)
            try await recorder.has(30, of: watch)
            let next = watch.next
            state = try await recorder.send(RecordingMoveTo(session: "s", step: "rest"))
            #expect(state.logs.map(\.paused) == [nil, true])
            #expect(state.configuration?.streams == ["phone/", "watch/"])
            #expect(state.configuration?.choices == [StreamChoice("watch/", fromStep: "walk", toStep: "turn")])
            try watch.sample(5)
            try phone.sample(5)
            try await recorder.hasAll(of: phone)
            let report = try await recorder.stop().report
            #expect(report.isWhole)
            #expect(report.streams.map(\.paused) == [0, first - before + 5])
            let records = try await recorder.records(log: 1)
            #expect(records.sequences == Array(first..<next))
            #expect(Set(records.filter(\.isSample).map(\.stepPath)) == ["Walk/walk", "Walk/turn"])
            // Each file repeats the current state at its beginning.
            let markers = records.markers.filter { $0 == "pause" || $0 == "resume" }
            #expect(markers.first == "pause" && markers.contains("resume") && markers.last == "pause")
            #expect(try await recorder.records(log: 0).markers.allSatisfy { $0 != "pause" && $0 != "resume" })
            #expect(try recorder.directory().record().choices == state.configuration?.choices)
            #expect(try recorder.directory().verify().verdict == .whole)
        }
    }

    @Test func aStreamThatAppearsLaterHasTheMarkersOfItsSteps() async throws {
        let publishers = [try await FakePublisher(), try await FakePublisher(watch)]
        try await RecorderUnderTest.run(listeningTo: publishers) { recorder in
            let (phone, watch) = (publishers[0], publishers[1])
            var request = RecordingStart(session: "s", step: "rest", streams: [])
            request.streams = [StreamChoice("*", fromStep: "walk"), StreamChoice("phone/")]
            _ = try await recorder.describing([phone]) { [request] in try await recorder.send(request) }
            _ = try await recorder.send(RecordingMoveTo(session: "s", step: "walk"))
            try await recorder.describing([watch]) { try await recorder.prime(watch) }
            _ = try await recorder.stop()
            #expect(try await recorder.records(log: 1).markers == ["start", "pause", "step", "resume", "stop"])
        }
    }

    @Test func aPauseOfOneStreamLeavesTheOthersAlone() async throws {
        let publishers = [try await FakePublisher(), try await FakePublisher(watch)]
        try await RecorderUnderTest.run(listeningTo: publishers) { recorder in
            let (phone, watch) = (publishers[0], publishers[1])
            try await recorder.start("s", phone, watch)
            try await recorder.prime(phone, watch)
            let (first, other) = (watch.next, phone.next)
            var state = try await recorder.send(RecordingPause(session: "s", stream: watch.name))
            #expect(!state.paused && state.pausedStreams == [watch.name])
            #expect(state.logs.map(\.paused) == [nil, true])
            // A second pause changes nothing.
            state = try await recorder.send(RecordingPause(session: "s", stream: watch.name))
            #expect(try await recorder.status() == state)
            try watch.sample(5)
            try phone.sample(5)
            try await recorder.has(other + 5, of: phone)
            // The session's own pause covers the stream's.
            state = try await recorder.send(RecordingPause(session: "s"))
            #expect(state.paused && state.logs.map(\.paused) == [true, true])
            state = try await recorder.send(RecordingResume(session: "s", stream: watch.name))
            #expect(state.paused && state.pausedStreams == nil && state.logs.map(\.paused) == [true, true])
            try watch.sample(3)
            state = try await recorder.send(RecordingResume(session: "s"))
            #expect(!state.paused && state.logs.map(\.paused) == [nil, nil])
            try watch.sample(2)
            try phone.sample(2)
            try await recorder.has(first + 2, of: watch)
            try await recorder.hasAll(of: phone)
            let report = try await recorder.stop().report
            #expect(report.isWhole)
            #expect(report.streams.map(\.paused) == [0, 8])
            #expect(try await recorder.records(log: 1).sequences == Array(0..<first) + [first + 8, first + 9])
            #expect(try await recorder.records(log: 1).markers == ["start", "pause", "resume", "position", "stop"])
            #expect(try await recorder.records(log: 0).sequences == Array(0..<phone.next))
            #expect(try await recorder.records(log: 0).markers == ["start", "pause", "resume", "stop"])
            let pauses = try recorder.directory().record().pauses
            #expect(pauses.map(\.stream) == [watch.name, nil])
            #expect(pauses.allSatisfy { $0.to != nil })
            try await recorder.events.recording(.report)
            let events = recorder.events.recordings.filter { $0.change == .pause || $0.change == .resume }
            #expect(events.map(\.change) == [.pause, .pause, .resume, .resume])
            #expect(events.map(\.stream) == [watch.name, nil, watch.name, nil])
        }
    }

    @Test func whatCanNotBeIsRefused() async throws {
        try await RecorderUnderTest.record { recorder, publisher in
            #expect(try await recorder.refusal(RecordingPause(session: "s", stream: watch)) == "unknownStream")
            #expect(try await recorder.refusal(RecordingResume(session: "s", stream: watch)) == "unknownStream")
            // The stream is not paused.
            let state = try await recorder.send(RecordingResume(session: "s", stream: publisher.name))
            #expect(state.pausedStreams == nil)
            var request = RecordingStart(session: "t", streams: [])
            for choices in [
                [StreamChoice("a/", fromStep: "")], [StreamChoice("a/", fromStep: "x"), StreamChoice("a/")],
            ] {
                request.streams = choices
                #expect(try await recorder.refusal(request) == "invalidParameter")
            }
        }
    }
}
