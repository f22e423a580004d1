import Testing

@testable import CrashLab

/// What the laboratory expects of a session's samples, and the faults that it finds in annotations.
@Suite(.timeLimit(.minutes(5)))
struct SessionExpectationTests {
    private func expectation(_ labels: String..., doubtful: String) -> SessionExpectation {
        let instant = Instant(monotonic: 0, wall: 0)
        var expectation = SessionExpectation(
            session: "s", streams: [], format: "json", stepPath: "Lab/s0", startAsked: instant, startAnswered: instant,
            stopAsked: instant)
        expectation.changes = (labels + [doubtful]).map {
            SessionExpectation.Change(
                kind: .annotation($0), asked: instant, answered: instant, isDoubtful: $0 == doubtful)
        }
        return expectation
    }

    @Test func aPauseOfOneStreamSaysNothingOfOthers() {
        func instant(_ wall: Double) -> Instant { Instant(monotonic: Int64(wall * 1e9), wall: wall) }
        func change(_ kind: SessionExpectation.Change.Kind, at wall: Double) -> SessionExpectation.Change {
            SessionExpectation.Change(kind: kind, asked: instant(wall), answered: instant(wall))
        }
        var expectation = expectation(doubtful: "c")
        expectation.changes = [
            change(.pauseStream("phone/gyro"), at: 10), change(.pause, at: 20), change(.resume, at: 30),
            change(.resumeStream("phone/gyro"), at: 40),
        ]
        func presences(_ stream: String) -> [SessionExpectation.Presence] {
            [5, 10, 15, 25, 35, 45].map { expectation.presence(at: $0, in: stream) }
        }
        #expect(presences("phone/gyro") == [.present, .either, .absent, .absent, .absent, .present])
        #expect(presences("phone/accelerometer") == [.present, .present, .present, .absent, .present, .present])
    }

    @Test func anAnnotationWhoseAnswerWasLostMayBeThereOrNot() {
        #expect(expectation("a", "b", doubtful: "c").faults(in: ["a", "b"]).isEmpty)
        #expect(expectation("a", "b", doubtful: "c").faults(in: ["a", "b", "c"]).isEmpty)
    }

    @Test func oneThatWasAnsweredIsThereOnceAndNoOtherIs() {
        #expect(expectation("a", "b", doubtful: "c").faults(in: ["a"]) == ["annotation b was answered, and is gone"])
        #expect(expectation("a", doubtful: "c").faults(in: ["a", "c", "c"]) == ["annotation c is there 2 times"])
        #expect(expectation("a", doubtful: "c").faults(in: ["a", "x"]) == ["nobody asked for annotation x"])
    }
}
