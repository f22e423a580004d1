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

    @Test func whatIsShorterThanAMillisecondIsNoSleep() {
        var watch = SleepWatch(elapsed: second, uptime: second)
        #expect(watch.notice(elapsed: 2 * second + SleepWatch.shortestSleep, uptime: 2 * second) == nil)
        #expect(watch.elapsed(at: 5 * second) == 5 * second)
        // Short ones add up.
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
