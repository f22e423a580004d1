import Testing

@testable import ZeroMQ

/// How many messages may wait, by their size.
struct ReceiveMarkTests {
    @Test func smallMessagesLeaveTheMarkAlone() {
        var mark = ReceiveMark(messages: 1_000, bytes: 32 << 20)
        #expect(mark.change(afterMessages: 512, bytes: 512 * 20_000) == nil)
        #expect(mark.change(afterMessages: 0, bytes: 0) == nil)
    }

    @Test func largeMessagesLowerItAndSmallOnesRaiseItAgain() {
        var mark = ReceiveMark(messages: 1_000, bytes: 32 << 20)
        #expect(mark.change(afterMessages: 1, bytes: 1 << 20) == 32)
        // About the same size changes nothing.
        #expect(mark.change(afterMessages: 2, bytes: 3 << 20) == nil)
        #expect(mark.change(afterMessages: 1, bytes: 32 << 20) == 4)
        #expect(mark.change(afterMessages: 512, bytes: 100_000) == 1_000)
    }

    @Test func theMarkOfTheUserIsNeverExceeded() {
        var mark = ReceiveMark(messages: 10, bytes: 32 << 20)
        #expect(mark.change(afterMessages: 512, bytes: 512) == nil)
        #expect(mark.change(afterMessages: 1, bytes: 8 << 20) == 4)
        #expect(mark.change(afterMessages: 512, bytes: 512) == 10)
    }
}
