import Recording
import Testing

@Suite(.timeLimit(.minutes(5)))
struct SessionTimelineTests {
    @Test(arguments: [
        ("Task", "step1", "Task/step1"), ("Task", "", "Task"), ("", "step1", "step1"), ("", "", ""),
        ("Task/sectionA", "step1", "Task/sectionA/step1"),
    ])
    func aStepPathIsTaskAndStep(task: String, step: String, path: String) {
        #expect(SessionTimeline(task: task, step: step).current.stepPath == path)
    }

    /// Ours, in addition: a sample exactly at a change's time gets the new step.
    @Test func case32ASampleGetsTheStepOfItsOwnTime() {
        var timeline = SessionTimeline(task: "", step: "none")
        for step in 1...6 { timeline.move(to: "\(step)", at: Int64(step) * 1_000_000_000) }
        #expect(timeline.state(at: 3_200_000_000).stepPath == "3")
        #expect(timeline.state(at: 3_000_000_000).stepPath == "3")
        #expect(timeline.state(at: 2_999_999_999).stepPath == "2")
        #expect(timeline.state(at: 6_200_000_000).stepPath == "6")
        #expect(timeline.state(at: 200_000_000).stepPath == "none")
        #expect(timeline.state(at: -5).stepPath == "none")
        #expect(timeline.state(at: .min).stepPath == "none")
        #expect(timeline.state(at: .max).stepPath == "6")
    }

    @Test func aPauseHasItsBeginningButNotItsEnd() {
        var timeline = SessionTimeline(task: "walk", step: "rest")
        timeline.pause(at: 10)
        timeline.resume(at: 20)
        let paused = [9, 10, 19, 20].map { timeline.state(at: $0).isPaused }
        #expect(paused == [false, true, true, false])
    }

    @Test func aSecondPauseAndAResumeWithoutPauseAreIgnored() {
        var timeline = SessionTimeline(task: "walk", step: "rest")
        var changed = [timeline.resume(at: 5)]
        changed.append(timeline.pause(at: 10))
        changed.append(timeline.pause(at: 15))
        changed.append(timeline.resume(at: 20))
        changed.append(timeline.resume(at: 25))
        #expect(changed == [false, true, false, true, false])
        #expect(timeline.state(at: 16).isPaused)
        #expect(!timeline.state(at: 22).isPaused)
    }

    @Test func stepsChangeWhilePaused() {
        var timeline = SessionTimeline(task: "walk", step: "a")
        timeline.pause(at: 10)
        timeline.move(to: "b", at: 15)
        timeline.resume(at: 20)
        let states = [14, 15, 20].map { timeline.state(at: $0) }
        #expect(states.map(\.stepPath) == ["walk/a", "walk/b", "walk/b"])
        #expect(states.map(\.isPaused) == [true, true, false])
    }

    @Test func theLastOfSeveralChangesAtOneTimeCounts() {
        var timeline = SessionTimeline(task: "", step: "a")
        timeline.move(to: "b", at: 10)
        timeline.move(to: "c", at: 10)
        timeline.move(to: "d", at: 3)
        #expect(timeline.state(at: 9).stepPath == "a")
        #expect(timeline.state(at: 10).stepPath == "d")
    }
}

extension SessionTimeline {
    func state(at time: Int64) -> State { span(at: time).state }
}
