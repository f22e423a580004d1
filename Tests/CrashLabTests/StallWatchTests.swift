import Testing

@testable import CrashLab

@Suite(.timeLimit(.minutes(1)))
struct StallWatchTests {
    @Test func standstillsThatOverlapCountOnce() {
        let noticed: [Range<Int64>] = [50..<80, 10..<30, 20..<40, 90..<200]
        #expect(StallWatch().length(within: 0..<100, and: noticed) == 30 + 30 + 10)
    }

    @Test func standstillsOutsideTheTimeDoNotCount() {
        #expect(StallWatch().length(within: 100..<200, and: [0..<100, 200..<300]) == 0)
        #expect(StallWatch().length(within: 100..<200, and: []) == 0)
    }
}
