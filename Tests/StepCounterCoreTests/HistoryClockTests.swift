import Messages
import TestSupport
import Testing

@testable import StepCounterCore

/// The date by which the history removes old steps, whatever this machine's clock does.
@Suite struct HistoryClockTests {
    private static let start = WallTime(seconds: 1_795_219_200)
    private static let day = 86_400.0
    private static let keep = Int64(7 * 86_400 * 1e9)

    private func moment(_ seconds: Double, ahead: Double = 0) -> Moment {
        Moment(monotonic: Int64(seconds * 1e9), date: WallTime(seconds: Self.start.seconds + seconds + ahead))
    }

    private func clock(_ stored: HistoryClock.State? = nil, at now: Moment) -> HistoryClock {
        HistoryClock(stored, keep: Self.keep, at: now)
    }

    /// Seconds since the start.
    private func date(_ clock: HistoryClock, at now: Moment) -> Double {
        (clock.date(at: now).seconds - Self.start.seconds).rounded()
    }

    @Test(arguments: [400.0, 2, -2, -800])
    func aFarJumpThatReturnsChangesNothing(days: Double) {
        let ahead = days * Self.day
        var clock = clock(at: moment(0))
        let expected: [(seconds: Double, ahead: Double, change: HistoryClock.Change?)] = [
            (60, 0, nil), (120, ahead, .jumped), (180, ahead, nil), (80_000, ahead, nil), (80_060, 0, .returned),
            (200_000, 0, nil),
        ]
        for (seconds, ahead, change) in expected {
            let now = moment(seconds, ahead: ahead)
            #expect(clock.advance(to: now) == change)
            // The earlier of the two dates decides what is too old.
            #expect(date(clock, at: now) == min(seconds, seconds + ahead))
        }
    }

    @Test func aJumpThatStandsForADayIsBelieved() {
        var clock = clock(at: moment(0))
        let ahead = 30 * Self.day
        #expect(clock.advance(to: moment(60, ahead: ahead)) == .jumped)
        #expect(clock.advance(to: moment(60 + Self.day - 1, ahead: ahead)) == nil)
        #expect(clock.isDoubtful && date(clock, at: moment(70_000, ahead: ahead)) < Self.day + 60)
        let now = moment(60 + Self.day, ahead: ahead)
        #expect(clock.advance(to: now) == .followed)
        #expect(!clock.isDoubtful && date(clock, at: now) == 60 + Self.day + ahead)
        // The clock must stay back just as long before it is believed.
        #expect(clock.advance(to: moment(100_000)) == .jumped)
        #expect(clock.advance(to: moment(100_000 + Self.day)) == .followed)
        #expect(date(clock, at: moment(100_000 + Self.day)) == 100_000 + Self.day)
    }

    @Test func aSecondJumpBeginsTheDayAnew() {
        var clock = clock(at: moment(0))
        #expect(clock.advance(to: moment(60, ahead: 30 * Self.day)) == .jumped)
        #expect(clock.advance(to: moment(80_000, ahead: 90 * Self.day)) == .jumped)
        #expect(clock.advance(to: moment(100_000, ahead: 90 * Self.day)) == nil)
        #expect(clock.advance(to: moment(80_000 + Self.day, ahead: 90 * Self.day)) == .followed)
    }

    @Test func theDateBeforeAJumpIsKnownInTheRunThatSawIt() {
        var first = clock(at: moment(0))
        _ = first.advance(to: moment(60))
        #expect(first.advance(to: moment(120, ahead: 30 * Self.day)) == .jumped)
        #expect(first.advance(to: moment(180, ahead: 90 * Self.day)) == .jumped)
        #expect(first.jumpDate == moment(60).date)
        #expect(clock(first.state, at: moment(240, ahead: 90 * Self.day)).jumpDate == nil)
    }

    @Test func aSmallJumpIsFollowedAtOnce() {
        var clock = clock(at: moment(0))
        for (seconds, ahead) in [(60.0, 0.4), (120, 3_600), (180, -3_600), (240, Self.day - 3_700), (300, 0)] {
            let now = moment(seconds, ahead: ahead)
            #expect(clock.advance(to: now) == nil)
            #expect(date(clock, at: now) == (seconds + ahead).rounded())
        }
        // Even beside a far jump.
        #expect(clock.advance(to: moment(360, ahead: 30 * Self.day)) == .jumped)
        let now = moment(420, ahead: 30 * Self.day + 100)
        #expect(clock.advance(to: now) == nil)
        #expect(date(clock, at: now) == 520)
        #expect(clock.advance(to: moment(480)) == .returned)
    }

    /// Only time can tell whether the program was stopped this long or the clock is wrong.
    @Test func aStartLongAfterTheLastRunWaitsForADay() {
        var first = clock(at: moment(0))
        _ = first.advance(to: moment(60))
        // The monotonic clock restarts with the machine.
        var second = clock(first.state, at: Moment(monotonic: 0, date: moment(10 * Self.day).date))
        #expect(second.advance(to: Moment(monotonic: 0, date: moment(10 * Self.day).date)) == .jumped)
        func running(_ seconds: Double, from day: Double) -> Moment {
            Moment(monotonic: Int64(seconds * 1e9), date: moment(day * Self.day + seconds).date)
        }
        #expect(second.advance(to: running(80_000, from: 10)) == nil)
        #expect(date(second, at: running(80_000, from: 10)) == 80_060)
        // A clock that is half a day off counts neither for nor against the jump.
        var third = clock(second.state, at: Moment(monotonic: 0, date: moment(11.5 * Self.day).date))
        #expect(third.advance(to: running(6_000, from: 11.5)) == nil)
        #expect(third.advance(to: running(6_400, from: 11.5)) == .followed)
        #expect(date(third, at: running(6_400, from: 11.5)) == (11.5 * Self.day + 6_400).rounded())
    }

    @Test func whatNeverHadAClockBeginsWithThisMachines() {
        let now = moment(5, ahead: 99 * Self.day)
        var clock = clock(at: now)
        #expect(clock.advance(to: now) == nil)
        #expect(clock.state == HistoryClock.State(date: now.date))
    }

    @Test(arguments: [Int64.min, .max])
    func theEndsOfTimeAreNoTrap(nanoseconds: Int64) {
        var clock = clock(HistoryClock.State(date: Self.start), at: moment(0))
        let now = Moment(monotonic: .max, date: WallTime(nanosecondsSince1970: nanoseconds))
        _ = clock.advance(to: now)
        _ = clock.advance(to: moment(1))
        _ = HistoryClock(
            HistoryClock.State(date: now.date, ahead: nanoseconds, stood: .max), keep: .max, at: moment(0)
        ).date(at: now)
    }
}
