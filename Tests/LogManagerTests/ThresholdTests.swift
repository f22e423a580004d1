import Testing

@testable import LogManagerCore

struct ThresholdTests {
    /// Whether a threshold fires, value by value.
    private func firings(of kind: Threshold.Kind, limit: Int, _ values: [Int]) -> [Bool] {
        var threshold = Threshold(kind)
        return values.map { threshold.evaluate($0, limit: limit) }
    }

    @Test func aThresholdFiresOncePerCrossing() {
        #expect(
            firings(of: .totalBytes, limit: 10, [10, 11, 12, 11, 10, 11])
                == [false, true, false, false, false, true])
    }

    @Test func zeroIsOff() {
        var threshold = Threshold(.pendingUploadBytes, isCrossed: true)
        let firings = [0, 999].map { threshold.evaluate(1_000, limit: $0) }
        #expect(firings == [false, true])
        #expect(self.firings(of: .minimumFreeBytes, limit: 0, [0, 1]) == [false, false])
    }

    @Test func roomIsCrossedFromAbove() {
        #expect(
            firings(of: .minimumFreeBytes, limit: 10, [10, 9, 0, 10, 9]) == [false, true, false, false, true])
    }
}
