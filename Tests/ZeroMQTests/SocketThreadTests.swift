import Testing
import ZeroMQ

@Suite(.timeLimit(.minutes(1)))
struct SocketThreadTests {
    @Test func sleepsEndAtTheirTimeAndNotBefore() async throws {
        let sleeper = Sleeper(thread: try SocketThread(name: "test"))
        let start = MonotonicClock.now
        try await withThrowingTaskGroup(of: Void.self) { group in
            for offset in [30_000_000, 10_000_000, -10_000_000, 20_000_000] {
                group.addTask {
                    try await sleeper.sleep(until: start + Int64(offset))
                    #expect(MonotonicClock.now >= start + Int64(offset))
                }
            }
            try await group.waitForAll()
        }
    }

    @Test func aSleepCanBeCancelled() async throws {
        let sleeper = Sleeper(thread: try SocketThread(name: "test"))
        let sleeping = Task { try await sleeper.sleep(until: .max) }
        sleeping.cancel()
        await #expect(throws: CancellationError.self) { try await sleeping.value }
    }

    @Test func anActorRunsOnItsThreadOnly() async throws {
        let thread = try SocketThread(name: "test")
        let first = Sleeper(thread: thread)
        let second = Sleeper(thread: thread)
        await first.assertIsolation()
        await second.assertIsolation()
        // Two actors of one thread may touch each other's state without a hop.
        await first.visit(second)
    }
}

private actor Sleeper {
    private let thread: SocketThread

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.unownedExecutor }

    init(thread: SocketThread) { self.thread = thread }

    func sleep(until deadline: Int64) async throws {
        try await thread.sleep(until: deadline)
    }

    func assertIsolation() { preconditionIsolated() }

    func visit(_ other: Sleeper) { other.preconditionIsolated() }
}
