import Testing

@testable import LogManagerCore

struct RemovalPlanTests {
    @Test func filesGoUntilItIsEnough() {
        var plan = RemovalPlan(freeing: 50)
        let first = plan.take(from: [27, 27, 27])
        #expect(first == 2 && plan.isEnough)
        let none = plan.take(from: [27])
        #expect(none == 0)
        plan.putBack(27)
        #expect(!plan.isEnough)
        let second = plan.take(from: [22, 5, 5])
        #expect(second == 2 && plan.isEnough)
    }

    @Test func nothingGoesWhereNothingHasTo() {
        for bytes in [0, -5] {
            var plan = RemovalPlan(freeing: bytes)
            let count = plan.take(from: [1])
            #expect(count == 0 && plan.isEnough)
        }
    }
}
