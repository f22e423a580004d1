import TestSupport
import Testing

@testable import StepDetection

@Suite struct RecentMedianTests {
    @Test(arguments: [1, 2, 5, 8, 9]) func itIsTheMedianOfTheLast(capacity: Int) {
        var random = SplitMix(seed: 6)
        var median = RecentMedian(capacity: capacity)
        var values: [Double] = []
        for _ in 0..<200 {
            // Including equal values.
            let value = Double(Int.random(in: 0...6, using: &random))
            median.append(value)
            values.append(value)
            let last = values.suffix(capacity).sorted()
            let middle = last.count / 2
            #expect(median.value == (last.count % 2 == 1 ? last[middle] : 0.5 * (last[middle - 1] + last[middle])))
            #expect(median.least(ofLast: 2) == (last.count < 2 ? 0 : values.suffix(2).min()))
        }
    }

    @Test func itBeginsAnew() {
        var median = RecentMedian(capacity: 3)
        for value in [5.0, 6, 7] { median.append(value) }
        median.removeAll()
        median.append(1)
        #expect(median.value == 1)
        #expect(median.count == 1)
    }
}
