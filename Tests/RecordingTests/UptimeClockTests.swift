import Messages
import Recording
import Testing

/// SEEDS cases 33 to 36, and what they leave open.
@Suite(.timeLimit(.minutes(5)))
struct UptimeClockTests {
    private static let minute: Int64 = 60_000_000_000
    private let minute = Self.minute
    private let start: Int64 = 1_000 * Self.minute + 123
    private let startElapsed: Int64 = 5_000 * Self.minute + 456

    /// A clock that started, then slept after 3 minutes for 5, so that it wakes 8 minutes after the start.
    private var slept: UptimeClock {
        var clock = UptimeClock(uptime: start, elapsed: startElapsed)
        let isWake = clock.note(uptime: start + 3 * minute, elapsed: startElapsed + 8 * minute)
        #expect(isWake)
        return clock
    }

    /// The time from a start to an uptime, sleep included, as sessions compute it.
    private func time(_ clock: UptimeClock, at uptime: Int64, since start: Int64) -> Int64 {
        uptime - clock.origin(at: uptime, start: start)
    }

    @Test func case33BeforeASleepBothClocksRunAlike() {
        #expect(time(slept, at: start + minute, since: start) == minute)
    }

    @Test func case34ATimeBeforeTheStartCountsBackFromIt() {
        #expect(time(slept, at: start - minute, since: start) == -minute)
    }

    @Test func case35AfterASleepItsLengthIsAdded() {
        #expect(time(slept, at: start + 5 * minute, since: start) == 10 * minute)
    }

    @Test func case36ASecondSleepIsAddedToTheFirst() {
        var clock = slept
        let wake = (uptime: start + 10 * minute, elapsed: startElapsed + 17 * minute)
        let isWake = clock.note(uptime: wake.uptime, elapsed: wake.elapsed)
        #expect(isWake)
        #expect(time(clock, at: wake.uptime + 10 * minute, since: start) == 27 * minute)
        // Earlier uptimes keep their time.
        #expect(time(clock, at: start + 5 * minute, since: start) == 10 * minute)
        #expect(time(clock, at: start + minute, since: start) == minute)
    }

    @Test func atAWakeTheNewReadingCounts() {
        let asleep = start + 3 * minute
        #expect(time(slept, at: asleep - 1, since: start) == 3 * minute - 1)
        #expect(time(slept, at: asleep, since: start) == 8 * minute)
    }

    @Test func onlyMoreThanAMillisecondIsASleep() {
        var clock = UptimeClock(uptime: start, elapsed: startElapsed)
        var noted = [clock.note(uptime: start + minute, elapsed: startElapsed + minute + 1_000_000)]
        #expect(time(clock, at: start + 2 * minute, since: start) == 2 * minute)
        noted.append(clock.note(uptime: start + minute, elapsed: startElapsed + minute + 1_000_001))
        #expect(time(clock, at: start + 2 * minute, since: start) == 2 * minute + 1_000_001)
        noted.append(clock.note(uptime: start + 3 * minute, elapsed: startElapsed + 3 * minute + 1_500_000))
        #expect(noted == [false, true, false])
    }

    @Test func descriptionsThatComeLateOrGoBackChangeNothing() {
        var clock = slept
        var noted = [clock.note(uptime: start + minute, elapsed: startElapsed + 100 * minute)]
        noted.append(clock.note(uptime: start + 4 * minute, elapsed: startElapsed + 4 * minute))
        #expect(noted == [false, false])
        #expect(clock == slept)
    }

    /// Missing samples are replayed after the descriptions that followed them.
    @Test func readingsMayComeInAnyOrder() {
        let readings: [(uptime: Int64, elapsed: Int64)] = [(-2, -7), (1, 1), (3, 8), (4, 9), (10, 17), (11, 18)]
        for first in readings.indices {
            let rotated = Array(readings[first...] + readings[..<first])
            for rest in [Array(rotated.dropFirst()), rotated.dropFirst().reversed()] {
                var clock = UptimeClock(uptime: rotated[0].uptime * minute, elapsed: rotated[0].elapsed * minute)
                for reading in rest {
                    clock.note(uptime: reading.uptime * minute, elapsed: reading.elapsed * minute)
                }
                let start = (rotated[0].uptime - rotated[0].elapsed) * minute
                for reading in readings {
                    #expect(time(clock, at: reading.uptime * minute, since: start) == reading.elapsed * minute)
                }
            }
        }
    }

    @Test func anOriginTurnsUptimesIntoTimesSinceAnotherStart() {
        // The session started half a minute before the first clock reading.
        let session = start - minute / 2
        for (uptime, sinceStart) in [(-1, -1), (1, 1), (3, 8), (5, 10)] as [(Int64, Int64)] {
            #expect(time(slept, at: start + uptime * minute, since: session) == sinceStart * minute + minute / 2)
        }
        #expect(slept.origin(at: start, start: session) == session)
    }

    @Test func descriptionsAreTakenAsTheyCome() throws {
        let date = WallTime(seconds: 0)
        var clock = try #require(UptimeClock(ClockReading(uptime: 100.5, date: date, elapsed: 5100.75)))
        var noted = [clock.note(ClockReading(uptime: 101.5, date: date, elapsed: 5101.75))]
        noted.append(clock.note(ClockReading(uptime: 102.5, date: date)))
        noted.append(clock.note(ClockReading(uptime: 103.5, date: date, elapsed: 5163.75)))
        #expect(noted == [false, false, true])
        #expect(time(clock, at: 104_500_000_000, since: 100_500_000_000) == 64_000_000_000)
        #expect(UptimeClock(ClockReading(uptime: 1, date: date)) == nil)
    }

    @Test(arguments: [Double.nan, .infinity, -.infinity, 1e300, -4e9])
    func readingsThatMakeNoSenseDoNoHarm(seconds: Double) {
        let date = WallTime(seconds: 0)
        #expect(UptimeClock(ClockReading(uptime: seconds, date: date, elapsed: 1)) == nil)
        #expect(UptimeClock(ClockReading(uptime: 1, date: date, elapsed: seconds)) == nil)
        var clock = slept
        clock.note(ClockReading(uptime: seconds, date: date, elapsed: seconds))
        clock.note(ClockReading(uptime: 1e9, date: date, elapsed: seconds))
        #expect(clock == slept)
    }

    @Test func timesBeyondAllBoundsDoNotTrap() {
        var clock = UptimeClock(uptime: .min, elapsed: .max)
        clock.note(uptime: .max, elapsed: .min)
        for uptime in [Int64.min, 0, .max] {
            for start in [Int64.min, 0, .max] { _ = clock.origin(at: uptime, start: start) }
        }
    }

    @Test func thereIsAnEndToWhatIsRemembered() {
        var clock = UptimeClock(uptime: 0, elapsed: 0)
        for wake in 1...5_000 as ClosedRange<Int64> { clock.note(uptime: wake * minute, elapsed: wake * 2 * minute) }
        #expect(time(clock, at: 5_000 * minute, since: 0) == 10_000 * minute)
        #expect(time(clock, at: 4_000 * minute, since: 0) == 8_000 * minute)
        #expect(time(clock, at: minute / 2, since: 0) == minute / 2)
    }

    @Test func itIsReadBackAsItWasWritten() throws {
        let bytes = try WireCoding.encode(slept)
        #expect(try WireCoding.decode(UptimeClock.self, from: bytes) == slept)
    }
}
