import ServiceKit
import Testing

@Suite(.timeLimit(.minutes(1)))
struct LatencyHistogramTests {
    @Test func nothingRecordedIsZeroEverywhere() {
        let histogram = LatencyHistogram()
        #expect(histogram.count == 0)
        #expect(histogram.median == 0)
        #expect(histogram.percentile99 == 0)
        #expect(histogram.maximum == 0)
    }

    @Test func percentilesAreRightToOnePercent() {
        var histogram = LatencyHistogram()
        for microseconds in Int64(1)...10_000 { histogram.record(nanoseconds: microseconds * 1000) }
        #expect(histogram.count == 10_000)
        #expect(abs(histogram.median - 5_000_000) <= 50_000)
        #expect(abs(histogram.percentile99 - 9_900_000) <= 99_000)
        #expect(histogram.maximum == 10_000_000)
    }

    @Test func oneValueIsItsOwnPercentiles() {
        var histogram = LatencyHistogram()
        histogram.record(nanoseconds: 1_234_567)
        #expect(abs(histogram.median - 1_234_567) <= 12_345)
        #expect(histogram.percentile99 == histogram.median)
        #expect(histogram.median <= histogram.maximum)
    }

    @Test func whatIsEarlyOrLongerThanAnHourIsCounted() {
        var histogram = LatencyHistogram()
        histogram.record(nanoseconds: -5)
        #expect(histogram.count == 1)
        #expect(histogram.maximum == 0)
        histogram.record(nanoseconds: Int64.max)
        #expect(histogram.count == 2)
        #expect(histogram.maximum == .max)
        #expect(histogram.percentile99 >= 3_600_000_000_000)
        #expect(histogram.percentile99 < 3_700_000_000_000)
    }

    @Test func resettingForgetsEverything() {
        var histogram = LatencyHistogram()
        histogram.record(nanoseconds: 7_000_000)
        histogram.reset()
        #expect(histogram.count == 0)
        #expect(histogram.maximum == 0)
        histogram.record(nanoseconds: 1_000_000)
        #expect(histogram.maximum == 1_000_000)
    }
}
