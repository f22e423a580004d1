import Testing
import Triggers

/// When sessions begin, are extended and end.
@Suite struct TriggeredSessionsTests {
    private static let second: Int64 = 1_000_000_000
    private static let slack = TriggeredSessions.slack
    private static let (before, after) = (10 * second, 20 * second)

    private var sessions = TriggeredSessions(before: before, after: after)
    private var count = 0

    private mutating func trigger(at instant: Int64, now: Int64? = nil) -> String? {
        sessions.trigger(at: instant, now: now ?? instant) {
            count += 1
            return "s\(count)"
        }?.session
    }

    @Test mutating func aTriggerIsASessionFromBeforeToAfterIt() {
        #expect(trigger(at: 100 * Self.second) == "s1")
        let end = 120 * Self.second
        #expect(sessions.takeActions() == [.start("s1", from: 90 * Self.second, limit: end + Self.slack)])
        #expect(sessions.nextDeadline == .max, "it is not started yet")
        sessions.started("s1", isRunning: true, now: 101 * Self.second)
        #expect(sessions.nextDeadline == end)
        sessions.wake(at: end - 1)
        #expect(sessions.takeActions() == [])
        sessions.wake(at: end)
        #expect(sessions.takeActions() == [.stop("s1")])
        #expect(!sessions.isIdle)
        sessions.stopped("s1")
        #expect(sessions.isIdle)
        #expect(!sessions.isOver)
    }

    @Test mutating func anotherTriggerMeanwhileExtendsIt() {
        _ = trigger(at: 100 * Self.second)
        sessions.started("s1", isRunning: true, now: 100 * Self.second)
        _ = sessions.takeActions()
        #expect(trigger(at: 115 * Self.second) == "s1")
        #expect(sessions.takeActions() == [.extend("s1", limit: 135 * Self.second + Self.slack)])
        // Until that request is answered, no other is sent.
        #expect(trigger(at: 116 * Self.second) == "s1")
        #expect(sessions.takeActions() == [])
        sessions.extended("s1", isRunning: true, now: 116 * Self.second) { "none" }
        #expect(sessions.takeActions() == [.extend("s1", limit: 136 * Self.second + Self.slack)])
        sessions.extended("s1", isRunning: true, now: 117 * Self.second) { "none" }
        #expect(sessions.nextDeadline == 136 * Self.second)
        #expect(sessions.takeActions() == [])
    }

    @Test mutating func whatIsStillSoExtendsItNowAndThen() {
        _ = trigger(at: 100 * Self.second)
        sessions.started("s1", isRunning: true, now: 100 * Self.second)
        _ = sessions.takeActions()
        var asked = 0
        for tick in 0..<6_000 {
            let now = 100 * Self.second + Int64(tick) * Self.second / 100
            sessions.hold(at: now, now: now)
            for case .extend in sessions.takeActions() {
                asked += 1
                sessions.extended("s1", isRunning: true, now: now) { "none" }
            }
        }
        #expect((10...12).contains(asked), "\(asked)")
        #expect(sessions.nextDeadline == 100 * Self.second + 5_999 * Self.second / 100 + Self.after)
    }

    @Test mutating func aTriggerAfterTheEndBeginsAnother() {
        _ = trigger(at: 100 * Self.second)
        sessions.started("s1", isRunning: true, now: 100 * Self.second)
        #expect(trigger(at: 121 * Self.second) == "s2")
        #expect(
            sessions.takeActions().suffix(2) == [
                .stop("s1"), .start("s2", from: 111 * Self.second, limit: 141 * Self.second + Self.slack),
            ])
    }

    @Test mutating func triggersBelongToASessionThatIsNotStartedYet() {
        _ = trigger(at: 100 * Self.second)
        _ = sessions.takeActions()
        // The recorder is unreachable for a long time.
        #expect(trigger(at: 200 * Self.second) == "s1")
        #expect(sessions.takeActions() == [])
        sessions.started("s1", isRunning: true, now: 210 * Self.second)
        #expect(sessions.takeActions() == [.extend("s1", limit: 220 * Self.second + Self.slack)])
    }

    @Test mutating func aTriggerThatIsLateHasASessionOfItsOwn() {
        _ = trigger(at: 100 * Self.second)
        sessions.started("s1", isRunning: true, now: 100 * Self.second)
        _ = sessions.takeActions()
        #expect(trigger(at: 95 * Self.second, now: 105 * Self.second) == "s2")
        #expect(
            sessions.takeActions() == [.start("s2", from: 85 * Self.second, limit: 115 * Self.second + Self.slack)])
        sessions.started("s2", isRunning: true, now: 105 * Self.second)
        sessions.wake(at: 120 * Self.second)
        #expect(Set(sessions.takeActions()) == [.stop("s1"), .stop("s2")])
    }

    @Test mutating func aSessionThatIsFoundLateEndsAtOnce() {
        #expect(trigger(at: 100 * Self.second, now: 500 * Self.second) == "s1")
        #expect(
            sessions.takeActions() == [.start("s1", from: 90 * Self.second, limit: 500 * Self.second + Self.slack)])
        sessions.started("s1", isRunning: true, now: 500 * Self.second)
        #expect(sessions.takeActions() == [.stop("s1")])
    }

    @Test mutating func aSessionThatSomebodyEndedIsFollowedByAnother() {
        _ = trigger(at: 100 * Self.second)
        sessions.started("s1", isRunning: true, now: 100 * Self.second)
        _ = trigger(at: 110 * Self.second)
        _ = sessions.takeActions()
        sessions.extended("s1", isRunning: false, now: 111 * Self.second) { "s2" }
        #expect(
            sessions.takeActions() == [
                .stop("s1"), .start("s2", from: 100 * Self.second, limit: 130 * Self.second + Self.slack),
            ])
    }

    @Test mutating func aSessionThatCouldNotBeStartedIsForgotten() {
        _ = trigger(at: 100 * Self.second)
        _ = sessions.takeActions()
        sessions.started("s1", isRunning: false, now: 101 * Self.second)
        #expect(sessions.isIdle)
        #expect(trigger(at: 102 * Self.second) == "s2")
    }

    @Test mutating func thereAreNoMoreThanTheLimit() {
        sessions = TriggeredSessions(before: Self.before, after: Self.after, limit: 1)
        #expect(trigger(at: 100 * Self.second) == "s1")
        sessions.started("s1", isRunning: true, now: 100 * Self.second)
        #expect(trigger(at: 110 * Self.second) == "s1", "it is extended")
        sessions.wake(at: 130 * Self.second)
        #expect(!sessions.takeActions().contains(.stop("s1")), "it may have ended by itself")
        sessions.extended("s1", isRunning: true, now: 130 * Self.second) { "none" }
        #expect(sessions.takeActions() == [.stop("s1")])
        sessions.wake(at: 130 * Self.second)
        #expect(trigger(at: 140 * Self.second) == nil)
        #expect(!sessions.isOver)
        sessions.stopped("s1")
        #expect(sessions.isOver)
    }

    @Test mutating func whoStopsWaitsForWhatIsBeingStarted() {
        _ = trigger(at: 100 * Self.second)
        _ = sessions.takeActions()
        sessions.stopAll(at: 101 * Self.second)
        #expect(sessions.takeActions() == [])
        #expect(trigger(at: 300 * Self.second) == "s1")
        sessions.started("s1", isRunning: true, now: 102 * Self.second)
        #expect(!sessions.takeActions().contains(.stop("s1")), "the second trigger is to be in it")
        sessions.extended("s1", isRunning: true, now: 103 * Self.second) { "none" }
        #expect(sessions.takeActions() == [.stop("s1")])
        sessions.stopped("s1")
        #expect(sessions.isOver)
    }
}
