import Testing
import ZeroMQ

@Suite(.timeLimit(.minutes(1)))
struct SocketThreadTests {
    @Test func sleepsEndAtTheirTimeAndInOrder() async throws {
        let sleeper = Sleeper(thread: try SocketThread(name: "test"))
        let start = MonotonicClock.now
        async let late: Void = sleeper.sleep(until: start + 30_000_000, named: "late")
        async let early: Void = sleeper.sleep(until: start + 10_000_000, named: "early")
        async let past: Void = sleeper.sleep(until: start - 10_000_000, named: "past")
        _ = try await (late, early, past)
        #expect(await sleeper.woken == ["past", "early", "late"])
        #expect(MonotonicClock.now >= start + 30_000_000)
    }

    @Test func aSleepCanBeCancelled() async throws {
        let sleeper = Sleeper(thread: try SocketThread(name: "test"))
        let sleeping = Task { try await sleeper.sleep(until: .max, named: "never") }
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
    private(set) var woken: [String] = []

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.unownedExecutor }

    init(thread: SocketThread) { self.thread = thread }

    func sleep(until deadline: Int64, named name: String) async throws {
        try await thread.sleep(until: deadline)
        woken.append(name)
    }

    func assertIsolation() { preconditionIsolated() }

    func visit(_ other: Sleeper) { other.preconditionIsolated() }
}
