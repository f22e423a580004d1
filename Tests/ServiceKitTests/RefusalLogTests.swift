import ServiceKit
import Testing

/// A flood of refused clients does not fill the log.
@Suite struct RefusalLogTests {
    @Test func eachKindIsMentionedOnceInAWhile() {
        var log = RefusalLog()
        let first = log.note("a", at: 5)
        #expect(first == 0)
        let again = log.note("a", at: 6)
        #expect(again == nil)
        let other = log.note("b", at: 7)
        #expect(other == 1)
        let later = log.note("a", at: 5 + RefusalLog.interval)
        #expect(later == 0)
        #expect(log.count == 4)
    }

    @Test func aFloodOfKindsIsMentionedAFewTimes() {
        var log = RefusalLog()
        var lines = 0
        for number in 0..<100_000 where log.note("key \(number)", at: 1) != nil { lines += 1 }
        #expect(lines == RefusalLog.maximumKinds)
        #expect(log.count == 100_000)
        let next = log.note("key", at: 1 + RefusalLog.interval)
        #expect(next == 100_000 - RefusalLog.maximumKinds)
    }
}
