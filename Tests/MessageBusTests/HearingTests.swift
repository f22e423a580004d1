import Testing

@testable import MessageBus

struct HearingTests {
    private static let second: Int64 = 1_000_000_000

    @Test func aBreakBeginsAnew() {
        var hearing = Hearing(at: 0)
        hearing.note(at: 3 * Self.second - 1)
        #expect(hearing.since(at: 5 * Self.second) == 0)
        #expect(hearing.since(at: 6 * Self.second) == nil)
        hearing.note(at: 7 * Self.second)
        #expect(hearing.since(at: 8 * Self.second) == 7 * Self.second)
    }

    @Test func whatWasNotHeardYetIsNotHeard() {
        var hearing = Hearing(at: .min)
        #expect(hearing.since(at: 0) == nil)
        hearing.note(at: 1)
        #expect(hearing.since(at: 1) == 1)
    }
}
