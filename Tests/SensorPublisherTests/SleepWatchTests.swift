import PublisherCore
import SampleSources
import Testing
import ZeroMQ

@Suite(.timeLimit(.minutes(1)))
struct SleepWatchTests {
    private let second: Int64 = 1_000_000_000

    @Test func aSleepIsNoticedOnce() {
        var watch = SleepWatch(elapsed: 100 * second, uptime: 40 * second)
        #expect(watch.notice(elapsed: 101 * second, uptime: 41 * second) == nil)
        #expect(watch.notice(elapsed: 162 * second, uptime: 42 * second) == 60 * second)
        #expect(watch.notice(elapsed: 163 * second, uptime: 43 * second) == nil)
        #expect(watch.elapsed(at: 50 * second) == 170 * second)
    }

    @Test func whatTheOtherClockSaysHasAnUptimeWhichIsThatOfTheWakeInASleep() {
        var watch = SleepWatch(elapsed: 100 * second, uptime: 40 * second)
        for (elapsed, uptime) in [(162, 42), (200, 50)] {
            _ = watch.notice(elapsed: Int64(elapsed) * second, uptime: Int64(uptime) * second)
        }
        let microsecond: Int64 = 1_000
        let expected: [(Int64, Int64)] = [
            (90 * second, 30 * second), (102 * second, 42 * second), (103 * second, 42 * second + microsecond),
            (162 * second, 42 * second + microsecond), (163 * second, 43 * second), (170 * second, 50 * second),
            (199 * second, 50 * second + microsecond), (201 * second, 51 * second),
        ]
        for (elapsed, uptime) in expected { #expect(watch.uptime(ofElapsed: elapsed) == uptime) }
        for elapsed in 0..<2_000 {
            let (one, next) = (Int64(elapsed) * second / 10, Int64(elapsed + 1) * second / 10)
            #expect(watch.uptime(ofElapsed: one) <= watch.uptime(ofElapsed: next), "times never go back")
        }
    }

    @Test func whatIsShorterThanAMillisecondIsNoSleep() {
        var watch = SleepWatch(elapsed: second, uptime: second)
        #expect(watch.notice(elapsed: 2 * second + SleepWatch.shortestSleep, uptime: 2 * second) == nil)
        #expect(watch.elapsed(at: 5 * second) == 5 * second)
        // Short sleeps add up.
        let twice = 3 * second + SleepWatch.shortestSleep + 1
        #expect(watch.notice(elapsed: twice, uptime: 3 * second) == SleepWatch.shortestSleep + 1)
    }

    @Test func aThreadThatWasHeldUpBetweenTheReadingsInventsNoSleep() {
        var watch = SleepWatch(elapsed: 100 * second, uptime: 100 * second)
        #expect(watch.notice(elapsed: 110 * second, uptime: 113 * second) == nil)
        #expect(watch.notice(elapsed: 114 * second, uptime: 114 * second) == nil)
        #expect(watch.elapsed(at: 120 * second) == 120 * second)
    }

    /// The machine that runs the tests does not sleep meanwhile, however busy it is.
    @Test func theSystemsClocksSayNoSleepWhereThereIsNone() {
        var watch = SleepWatch(elapsed: BootClock.now, uptime: MonotonicClock.now)
        for _ in 0..<100_000 {
            let elapsed = BootClock.now
            #expect(watch.notice(elapsed: elapsed, uptime: MonotonicClock.now) == nil)
        }
    }
}
