import Testing

@testable import ZeroMQ

struct WakeTests {
    private let thread: SocketThread

    init() throws { thread = try SocketThread(name: "wake") }

    @Test func whatIsToldBeforeAWaitEndsIt() async {
        let wake = Wake<Int>()
        wake.tell(1)
        wake.tell(2)
        #expect(await wake.next(on: thread) == 2)
    }

    @Test(.timeLimit(.minutes(1))) func whatIsToldDuringAWaitEndsIt() async {
        let (wake, back) = (Wake<Int>(), Wake<Int>())
        async let told = passOn(from: wake, to: back, count: 1_000)
        for number in 0..<1_000 {
            wake.tell(number)
            #expect(await back.next(on: thread) == number)
        }
        #expect(await told == Array(0..<1_000))
    }

    private func passOn(from wake: Wake<Int>, to back: Wake<Int>, count: Int) async -> [Int] {
        var told: [Int] = []
        while told.count < count, let number = await wake.next(on: thread) {
            told.append(number)
            back.tell(number)
        }
        return told
    }

    @Test(.timeLimit(.minutes(1))) func aTaskThatIsCancelledWaitsNoLonger() async {
        let wake = Wake<Int>()
        let task = Task { [thread] in await wake.next(on: thread) }
        task.cancel()
        #expect(await task.value == nil)
        wake.tell(1)
        #expect(await wake.next(on: thread) == nil)
    }
}
