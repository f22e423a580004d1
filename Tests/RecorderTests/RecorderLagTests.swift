import RecorderCore
import Testing

/// How far behind a recorder is. Pure: the test supplies the time.
struct RecorderLagTests {
    private static let second: Int64 = 1_000_000_000
    private static let start: Int64 = 1_700_000_000 * second

    /// Takes a batch every 100 ms, each received some seconds after its publication.
    private func take(
        _ lag: inout RecorderLag, _ seconds: Range<Int64>, late: Double, allowance: Double = 0
    ) {
        for tick in seconds.lowerBound * 10..<seconds.upperBound * 10 {
            let now = tick * Self.second / 10
            lag.take(
                published: Self.start + now - Int64(late * 1e9), date: Self.start + now, allowance: allowance, at: now)
        }
    }

    @Test func aLateBatchAloneIsNothing() {
        var lag = RecorderLag()
        take(&lag, 0..<10, late: 0.01)
        lag.take(
            published: Self.start + 5 * Self.second, date: Self.start + 10 * Self.second, allowance: 0,
            at: 10 * Self.second)
        #expect(lag.seconds < 1)
    }

    @Test func beingBehindIsLargeUntilItIsCaughtUp() {
        var lag = RecorderLag()
        take(&lag, 0..<10, late: 5)
        #expect(lag.seconds > 4 && lag.isLarge)
        take(&lag, 10..<20, late: 1.5)
        #expect(lag.isLarge, "it does not flicker")
        take(&lag, 20..<40, late: 0.1)
        #expect(lag.seconds < 0.2 && !lag.isLarge)
    }

    @Test func samplesThatStopArrivingAreNotLate() {
        var lag = RecorderLag()
        take(&lag, 0..<10, late: 5)
        lag.pass(isBlocked: false, date: Self.start + 10 * Self.second, allowance: 0, at: 10 * Self.second)
        #expect(lag.seconds > 4)
        lag.pass(isBlocked: false, date: Self.start + 12 * Self.second, allowance: 0, at: 12 * Self.second)
        #expect(lag.seconds == 0)
    }

    @Test func samplesThatMustWaitGetLater() {
        var lag = RecorderLag()
        take(&lag, 0..<10, late: 0)
        lag.pass(isBlocked: true, date: Self.start + 20 * Self.second, allowance: 0, at: 20 * Self.second)
        #expect(lag.seconds > 9)
    }

    @Test func aClockThatIsBehindIsNotLateness() {
        var lag = RecorderLag()
        take(&lag, 0..<10, late: 5, allowance: 5)
        #expect(lag.seconds < 0.01)
        take(&lag, 10..<20, late: -5)
        #expect(lag.seconds < 0.01, "nor is one that is ahead")
    }
}
