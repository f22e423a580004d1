import Messages
import RecorderClient
import ServiceKit
import Testing

/// What the `record` command knows about the session that it drives.
@Suite(.timeLimit(.minutes(1)))
struct SessionCourseTests {
    private func course(_ steps: String..., duration: Duration? = nil) throws -> SessionCourse {
        SessionCourse(of: "s", steps: try steps.map { try StepChange(typed: $0) }, duration: duration)
    }

    private func state(in step: String) -> RecordingState {
        RecordingState(session: "s", status: "running", step: step, paused: false, logs: [])
    }

    @Test func stepsAreDueInTheOrderOfTheirTimes() throws {
        var course = try course("10s=back", "5s=turn", duration: .seconds(20))
        #expect(course.nextEvent == .seconds(5))
        #expect(course.stepDue(at: .seconds(4)) == nil)
        #expect(course.stepDue(at: .seconds(12)) == "turn")
        course.finishStep()
        #expect(course.stepDue(at: .seconds(12)) == "back")
        course.finishStep()
        #expect(course.stepDue(at: .seconds(12)) == nil)
        #expect(course.nextEvent == .seconds(20))
        #expect(!course.isOver(at: .milliseconds(19_999)))
        #expect(course.isOver(at: .seconds(20)))
    }

    @Test func withoutADurationSomebodyEndsIt() throws {
        let course = try course()
        #expect(course.nextEvent == nil)
        #expect(!course.isOver(at: .seconds(1_000_000)))
    }

    /// The client was killed, or the answer to its request was lost.
    @Test func whatWasDoneIsNotDoneAgain() throws {
        var course = try course("5s=turn", "10s=back", "15s=turn")
        course.take(state(in: "Walk/turn"), at: .seconds(7))
        #expect(course.stepDue(at: .seconds(10)) == "back")
        course.take(state(in: "Walk/out"), at: .seconds(12))
        #expect(course.stepDue(at: .seconds(12)) == "back")
        course.take(state(in: "back"), at: .seconds(12))
        #expect(course.stepDue(at: .seconds(15)) == "turn")
    }

    @Test(arguments: [
        ("walk-20261121T080826Z-1e27", true), ("walk-fast-20261121T080826Z-1e27", false),
        ("20261121T080826Z-1e27", false), ("walk", false), ("walking-20261121T080826Z-1e27", false),
    ])
    func aSeriesKnowsItsSessions(session: String, isOne: Bool) {
        #expect(SessionSeries(name: "walk").contains(session) == isOne)
        #expect(SessionSeries(name: "walk").contains(SessionSeries(name: "walk").next))
    }
}
