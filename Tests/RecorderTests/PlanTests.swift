import Messages
import Recording
import ServiceKit
import TestSupport
import Testing

/// Sessions that another recorder continues from their start.
@Suite(.timeLimit(.minutes(1)))
struct PlanTests {
    /// Begins a session and exercises everything that a plan must include.
    private static func begin(_ recorder: RecorderUnderTest, _ publisher: FakePublisher) async throws {
        let request = RecordingStart(
            session: "s", task: "Walk", step: "out", streams: [publisher.name.description], format: "csv",
            duration: 600, keys: .object(["schedule": .string("w48")]))
        _ = try await recorder.describing([publisher]) { try await recorder.send(request) }
        try await recorder.prime(publisher)
        _ = try await recorder.send(RecordingMoveTo(session: "s", step: "back"))
        try publisher.sample(5)
        _ = try await recorder.send(RecordingPause(session: "s"))
        try publisher.sample(5)
        _ = try await recorder.send(RecordingResume(session: "s"))
        _ = try await recorder.send(RecordingAnnotate(session: "s", label: "fall", note: "on the bench"))
        try publisher.sample(5)
    }

    /// Adds a plan's annotations to the new recording.
    private static func annotate(_ plan: SessionPlan, _ recorder: RecorderUnderTest) async throws {
        var numbers: [Int: Int] = [:]
        for annotation in plan.annotations ?? [] {
            let request = try plan.annotationRequest(for: annotation, numbers: numbers)
            numbers[annotation.number] = try await recorder.send(request).annotation.number
        }
    }

    @Test func aSessionIsTheSameAtTheRecorderThatContinuesIt() async throws {
        let publisher = try await FakePublisher()
        publisher.set { $0.rate = 1_000 }
        try await RecorderUnderTest.run(listeningTo: [publisher]) { recorder in
            try await Self.begin(recorder, publisher)
            var plan = try await recorder.send(RecordingPlan(session: "s")).plan
            // A recorder accepts a session name only once.
            plan.start.session = "t"
            let request = plan.start
            _ = try await recorder.describing([publisher]) { try await recorder.send(request) }
            let again = try await recorder.send(RecordingPlan(session: "t")).plan
            #expect(
                abs((again.start.until?.seconds(since: plan.start.until ?? .now)) ?? 1) < 1e-5, "it ends when it was to"
            )
            try await Self.annotate(plan, recorder)
            try publisher.sample(5)
            for session in ["s", "t"] { #expect(try await recorder.stop(session).report.isWhole) }

            let (old, new) = (try recorder.directory("s").record(), try recorder.directory("t").record())
            #expect(new.startDate.utcText == old.startDate.utcText)
            #expect((new.task, new.step, new.streams) == (old.task, old.step, old.streams))
            #expect((new.format, new.keys) == (old.format, old.keys))
            #expect(new.steps.map(\.step) == ["back"])
            #expect(zip(new.changes, old.changes).allSatisfy { abs($0.timestamp - $1.timestamp) < 2e-6 })
            #expect(new.changes.map(\.event) == old.changes.map(\.event))
            #expect(new.annotations?.map(\.label) == ["fall"])
            #expect(new.annotations?.map(\.note) == ["on the bench"])
            let samples = try await recorder.records("s").filter { $0.marker == nil }
            let later = try await recorder.records("t").filter { $0.marker == nil }
            let known = Set(samples.map(\.uptime))
            // The second recorder requests all samples since the start, including those from before the first recorder connected.
            #expect(later.filter { known.contains($0.uptime) }.map(\.uptime) == samples.map(\.uptime))
            #expect(later.suffix(samples.count).map(\.stepPath) == samples.map(\.stepPath))
            #expect(try recorder.directory("t").verify().findings == [])
        }
    }

    @Test func aCorrectionFindsItsAnnotationIfAnotherWasAddedMeanwhile() async throws {
        let publisher = try await FakePublisher()
        try await RecorderUnderTest.run(listeningTo: [publisher]) { recorder in
            for session in ["s", "t"] { try await recorder.start(session, publisher) }
            for request in [
                RecordingAnnotate(session: "s", label: "walk"), RecordingAnnotate(session: "s", label: "stumble"),
                RecordingAnnotate(session: "s", label: "", corrects: 2),
            ] {
                _ = try await recorder.send(request)
            }
            var plan = try await recorder.send(RecordingPlan(session: "s")).plan
            plan.start.session = "t"
            _ = try await recorder.send(RecordingAnnotate(session: "t", label: "turn"))
            try await Self.annotate(plan, recorder)
            // A request without an answer is repeated.
            try await Self.annotate(plan, recorder)
            for session in ["s", "t"] { _ = try await recorder.stop(session) }
            let annotations = try #require(try recorder.directory("t").record().annotations)
            #expect(annotations.map(\.label) == ["turn", "walk", "stumble", ""])
            #expect(Set(Annotation.valid(in: annotations).map(\.label)) == ["turn", "walk"])
        }
    }

    @Test func aCorrectionOfARefusedAnnotationIsNotAdded() throws {
        let date = WallTime(seconds: 1_700_000_000)
        let correction = Annotation(number: 2, label: "fall", from: date, date: date, corrects: 1)
        let plan = SessionPlan(start: RecordingStart(session: "s", streams: ["*"]), annotations: [correction])
        #expect(throws: RequestError.self) { try plan.annotationRequest(for: correction, numbers: [:]) }
        #expect(try plan.annotationRequest(for: correction, numbers: [1: 3]).corrects == 3)
    }

    @Test func aPlanHasTheDatesOfTheWallClock() throws {
        func date(_ seconds: Double) -> WallTime { WallTime(seconds: 1_700_000_000 + seconds) }
        var record = SessionRecord(
            session: try SessionIdentifier("s"), task: "", step: "", streams: ["a/b"], format: .json, root: .array,
            status: .running, startDate: date(0), limits: SessionRecord.Limits(duration: 60))
        record.clockSet = 3_600
        record.steps = [SessionRecord.Step(date: date(2), timestamp: 2, step: "back")]
        record.annotations = [Annotation(number: 1, label: "fall", from: date(3), to: date(4), date: date(5))]
        let plan = SessionPlan(record)
        #expect(plan.start.from == date(3_600))
        #expect(plan.start.changes?.map(\.date) == [date(3_602)])
        #expect(plan.start.until == date(3_660))
        #expect(plan.annotations?.map(\.from) == [date(3_603)])
        #expect(plan.annotations?.map(\.to) == [date(3_604)])
    }

    @Test func aPlanFollowsTheSessionsEnd() async throws {
        let publisher = try await FakePublisher()
        try await RecorderUnderTest.run(listeningTo: [publisher]) { recorder in
            try await recorder.start("s", publisher, duration: 600)
            let until = try #require(try await recorder.send(RecordingPlan(session: "s")).plan.start.until)
            let later = WallTime(nanosecondsSince1970: until.nanosecondsSince1970 + 60_000_000_000)
            _ = try await recorder.send(RecordingExtend(session: "s", until: later))
            let plan = try await recorder.send(RecordingPlan(session: "s")).plan
            #expect(abs((plan.start.until?.seconds(since: until) ?? 0) - 60) < 0.01)
            _ = try await recorder.stop()
            #expect(try await recorder.send(RecordingPlan(session: "s")).status == "finished")
        }
    }

    @Test func changesThatCanNotBeAreRefused() async throws {
        let now = WallTime.now
        let earlier = WallTime(nanosecondsSince1970: now.nanosecondsSince1970 - 1_000_000_000)
        let steps = [SessionChange(.step, at: now, step: "a"), SessionChange(.step, at: earlier, step: "b")]
        try await RecorderUnderTest.run { recorder in
            for request in [
                RecordingStart(streams: ["*"], changes: steps),
                RecordingStart(streams: ["*"], duration: 1, until: now),
                RecordingStart(streams: ["*"], from: earlier, changes: steps),
                RecordingStart(streams: ["*"], from: now, changes: [steps[1]]),
                RecordingStart(streams: ["*"], from: earlier, changes: [SessionChange(.gap, at: now)]),
            ] {
                let refusal = try await recorder.refusal(request)
                #expect(refusal == "invalidParameter")
            }
        }
    }
}
