import Messages
import Recording
import Testing

/// Streams of a session that are recorded only in some steps, or paused individually.
@Suite(.timeLimit(.minutes(5)))
struct StreamChoiceTests {
    private let gyro = StreamName(device: "phone", stream: "gyro")
    private let wrist = StreamName(device: "wrist", stream: "gyro")

    private func record(_ choices: [StreamChoice] = [], step: String = "rest") throws -> SessionRecord {
        var record = SessionRecord(
            session: try SessionIdentifier("s"), task: "Walk", step: step, streams: ["*"], format: .json, root: .array,
            status: .running, startDate: WallTime(nanosecondsSince1970: 0))
        if !choices.isEmpty { record.choose(choices) }
        return record
    }

    /// The steps of a session, one per second, in which samples of the stream are written.
    private func recorded(
        _ steps: [String], from: String?, to: String?, beginning: String = "rest"
    ) throws -> [String] {
        var record = try record([StreamChoice("phone/", fromStep: from, toStep: to)], step: beginning)
        for (index, step) in steps.enumerated() {
            record.steps.append(.init(date: record.startDate, timestamp: Double(index + 1), step: step))
        }
        let timeline = SessionTimeline(record, of: gyro)
        let all = [beginning] + steps
        return all.indices.filter { !timeline.span(at: Int64($0) * 1_000_000_000 + 500_000_000).state.isPaused }
            .map { all[$0] }
    }

    @Test func aStreamIsRecordedFromTheBeginningOfAStepToTheEndOfAnother() throws {
        let steps = ["walk", "turn", "back", "rest"]
        #expect(try recorded(steps, from: "walk", to: "turn") == ["walk", "turn"])
        #expect(try recorded(steps, from: "walk", to: "walk") == ["walk"])
        #expect(try recorded(steps, from: "turn", to: nil) == ["turn", "back", "rest"])
        #expect(try recorded(steps, from: nil, to: "turn") == ["rest", "walk", "turn"])
        #expect(try recorded(steps, from: "rest", to: "walk") == ["rest", "walk", "rest"])
        #expect(try recorded(steps, from: "run", to: "turn") == [])
        // A last step that never comes, or came before the first, ends nothing.
        #expect(try recorded(steps, from: "turn", to: "run") == ["turn", "back", "rest"])
        #expect(try recorded(steps, from: "back", to: "walk") == ["back", "rest"])
        #expect(try recorded([], from: "rest", to: "rest") == ["rest"])
    }

    @Test func aStepThatBeginsAgainIsRecordedAgain() throws {
        let steps = ["walk", "rest", "walk", "rest"]
        #expect(try recorded(steps, from: "walk", to: "walk") == ["walk", "walk"])
        #expect(try recorded(steps, from: nil, to: "walk") == ["rest", "walk"])
        #expect(
            try recorded(["walk", "turn", "walk", "rest"], from: "walk", to: "turn") == [
                "walk", "turn", "walk", "rest",
            ])
        // The session moves to the step that it is already in.
        #expect(try recorded(["walk", "walk", "rest"], from: "walk", to: "walk") == ["walk", "walk"])
    }

    @Test func theMostExactNameCounts() throws {
        let record = try record([
            StreamChoice("*", fromStep: "a"), StreamChoice("wrist/"), StreamChoice("wrist/gyro", fromStep: "b"),
        ])
        #expect(record.streams == ["*", "wrist/", "wrist/gyro"])
        #expect(record.choice(of: gyro)?.fromStep == "a")
        #expect(record.choice(of: wrist)?.fromStep == "b")
        #expect(record.choice(of: StreamName(device: "wrist", stream: "accelerometer")) == nil)
    }

    @Test func pausesOfTheSessionAndOfAStreamOverlap() throws {
        var record = try record([StreamChoice("phone/", fromStep: "walk")])
        record.streams.append("wrist/")
        var marks: [[Marker.Event]] = []
        var timelines = [
            SessionTimeline(record), SessionTimeline(record, of: gyro), SessionTimeline(record, of: wrist),
        ]
        func take(_ event: Marker.Event, _ step: String? = nil, of stream: StreamName? = nil) {
            let change = SessionRecord.Change(
                event: event, timestamp: Double(marks.count + 1), step: step, stream: stream)
            marks.append(
                timelines.indices.flatMap { index in
                    stream == nil || timelines[index].stream == stream ? timelines[index].take(change) : []
                })
        }
        take(.pause, of: wrist)
        take(.pause)
        take(.step, "walk")
        take(.resume, of: wrist)
        take(.resume)
        #expect(
            marks == [[.pause], [.pause], [.step, .step, .step], [], [.resume, .resume, .resume]])
        #expect(timelines.allSatisfy { !$0.current.isPaused })
        take(.pause, of: gyro)
        take(.step, "rest")
        #expect(timelines.map(\.current.isPaused) == [false, true, false])
        take(.resume, of: gyro)
        #expect(marks.suffix(3) == [[.pause], [.step, .step, .step], [.resume]])
    }

    @Test func aRecordLeadsToTheSameTimeline() throws {
        var record = try record([StreamChoice("phone/", fromStep: "walk", toStep: "walk")])
        record.steps = [
            .init(date: record.startDate, timestamp: 1, step: "walk"),
            .init(date: record.startDate, timestamp: 4, step: "rest"),
        ]
        record.pauses = [
            .init(from: 2, to: 3, stream: gyro), .init(from: 2.5, to: 2.75), .init(from: 5, stream: wrist),
        ]
        let copy = try WireCoding.decode(SessionRecord.self, from: WireCoding.encode(record))
        #expect(copy == record)
        let timeline = SessionTimeline(copy, of: gyro)
        let times = [0.5, 1, 2, 2.6, 2.8, 3, 4, 6].map { Int64($0 * 1e9) }
        #expect(
            times.map { timeline.span(at: $0).state.isPaused } == [true, false, true, true, true, false, true, true])
        let shared = SessionTimeline(copy)
        #expect(
            times.map { shared.span(at: $0).state.isPaused } == [false, false, false, true, false, false, false, false])
        #expect(copy.isApart(gyro) && copy.isApart(wrist))
        #expect(!copy.isApart(StreamName(device: "wrist", stream: "accelerometer")))
    }

    @Test(arguments: [
        [StreamChoice("a/", fromStep: "x"), StreamChoice("a/")],
        [StreamChoice("a/", fromStep: "x"), StreamChoice("a/", toStep: "y")],
        [StreamChoice("a/", fromStep: "")], [StreamChoice("a/", toStep: "")],
        [StreamChoice("a/", fromStep: String(repeating: "x", count: 257))],
    ])
    func whatContradictsItselfIsRefused(choices: [StreamChoice]) {
        let error = #expect(throws: RequestError.self) { try SessionRecord.check(choices) }
        #expect(error?.data?.reason == "invalidParameter")
        #expect(error?.message.contains("'a/'") == true)
    }

    @Test func namesWithoutStepsMayStandTwice() throws {
        try SessionRecord.check([StreamChoice("a/"), StreamChoice("a/"), StreamChoice("b/", fromStep: "x")])
    }
}
