import MessageBus
import Messages
import Runtime
import ServiceKit
import TestSupport
import Testing
import ZeroMQ

@Suite(.timeLimit(.minutes(1)))
struct EngineTests {
    /// Runs an engine while a test uses it.
    private func withEngine(_ body: (ScriptedEngine) async throws -> Void) async throws {
        let engine = try ScriptedEngine()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await engine.run() }
            try await body(engine)
            engine.gate.open()
            group.cancelAll()
        }
    }

    @Test func theCoreIsWokenAtItsDeadlineAndNotBefore() async throws {
        try await withEngine { engine in
            let deadline = MonotonicClock.now + 50_000_000
            await engine.tell { $0.nextDeadline = deadline }
            try await engine.waitUntil { !$0.wakes.isEmpty }
            let wakes = await engine.read { $0.wakes }
            #expect(wakes.count == 1)
            #expect(wakes.allSatisfy { $0.deadline == deadline && $0.time >= deadline })
        }
    }

    @Test func anEarlierDeadlineWakesTheCoreThatSleepsForALaterOne() async throws {
        try await withEngine { engine in
            await engine.tell { $0.nextDeadline = .max }
            await engine.tell { $0.nextDeadline = MonotonicClock.now + 3_600_000_000_000 }
            await engine.tell { $0.nextDeadline = MonotonicClock.now + 10_000_000 }
            try await engine.waitUntil { !$0.wakes.isEmpty }
            // A deadline in the past is due now.
            await engine.tell { $0.nextDeadline = 1 }
            try await engine.waitUntil { $0.wakes.count == 2 }
        }
    }

    @Test func effectsOfAQueueAreCarriedOutOneAfterTheOther() async throws {
        try await withEngine { engine in
            await engine.tell { core in for number in 0..<5 { core.emit(.write(number)) } }
            try await engine.waitUntil { $0.underWay == [0] }
            engine.gate.open()
            try await engine.waitUntil { $0.done == [0, 1, 2, 3, 4] }
        }
    }

    @Test func effectsThatNeedNotWaitForEachOtherDoNot() async throws {
        try await withEngine { engine in
            await engine.tell { core in for number in 0..<3 { core.emit(.ask(number)) } }
            try await engine.waitUntil { $0.underWay.count == 3 }
            await engine.tell { $0.emit(.ask(3)) }
            try await engine.waitUntil { $0.underWay.count == 4 }
            engine.gate.open()
            try await engine.waitUntil { $0.done.sorted() == [0, 1, 2, 3] }
        }
    }

    @Test func ofEffectsThatRepeatThemselvesTheNewestCounts() async throws {
        try await withEngine { engine in
            await engine.tell { $0.emit(.look(0)) }
            try await engine.waitUntil { $0.underWay == [0] }
            await engine.tell { core in for number in 1..<5 { core.emit(.look(number)) } }
            engine.gate.open()
            try await engine.waitUntil { $0.done == [0, 4] }
        }
    }

    @Test func oneQueueDoesNotWaitForAnother() async throws {
        try await withEngine { engine in
            await engine.tell { core in
                core.emit(.write(0))
                core.emit(.count)
                core.emit(.ask(1))
            }
            try await engine.waitUntil { $0.underWay == [0, 1] && $0.counted == 1 }
        }
    }

    /// More than fits into one batch.
    @Test func whatATurnPublishesComesOnceAndInOrder() async throws {
        let (context, thread) = (try Context(), try SocketThread(name: "test"))
        var options = SocketOptions.publishing
        options.sendHighWaterMark = 10_000
        let (events, endpoint) = try EventPublisher.listening(
            on: "inproc://numbers", context: context, thread: thread, options: options)
        let subscriber = try Subscriber(
            context: context, thread: thread, options: SocketOptions(receiveHighWaterMark: 10_000, messageBytes: 100))
        try await subscriber.subscribe(to: "numbers")
        try await subscriber.connect(to: endpoint)
        let engine = try ScriptedEngine(events: events)
        var heard: [[UInt8]] = []
        while heard.isEmpty {
            await engine.tell { $0.emit(.publish(-1)) }
            let batch = try await subscriber.next(deadline: MonotonicClock.now + 5_000_000)
            heard = (0..<batch.count).map { batch[$0][1] }
        }
        let numbers = (0..<5_000).map { Array("\($0)".utf8) }
        await engine.tell { core in for number in numbers.indices { core.emit(.publish(number)) } }
        while heard.last != numbers.last {
            let batch = try await subscriber.next()
            heard += (0..<batch.count).map { batch[$0][1] }
        }
        #expect(heard.filter { $0 != Array("-1".utf8) } == numbers)
    }

    @Test func aWaitEndsAtItsDeadline() async throws {
        try await withEngine { engine in
            let deadline = MonotonicClock.now + 20_000_000
            try await engine.waitUntil(before: deadline) { _ in false }
            #expect(MonotonicClock.now >= deadline)
            // A wait whose deadline has passed does not wait at all.
            try await engine.waitUntil(before: deadline) { _ in false }
        }
    }

    @Test func aCancelledTaskWaitsNoMore() async throws {
        try await withEngine { engine in
            await withTaskGroup(of: Bool.self) { group in
                group.addTask {
                    do {
                        try await engine.waitUntil { _ in false }
                        return false
                    } catch {
                        return error is CancellationError
                    }
                }
                group.cancelAll()
                #expect(await group.next() == true)
            }
        }
    }

    @Test func noticesReachHealthAndTheExitCode() async throws {
        let health = Health()
        let engine = try ScriptedEngine(health: health)
        await engine.tell { core in
            core.emit(.degraded("it is late", for: "a"))
            core.emit(.failing("the disk is full", for: "b"))
            core.emit(.malformed(MessageError(.malformed, "no JSON")))
        }
        #expect(health.reply.status == .failing)
        #expect(health.reply.reasons.count == 3)
        #expect(health.reply.measures == ["messagesMalformed": 1])
        let program = await RunningService(engine, router: RequestRouter())
        #expect(program.outcome() == .done)
        await engine.tell { core in
            core.emit(.warn(nil, for: "a"))
            core.emit(.clear("b"))
            core.emit(.lost)
        }
        #expect(health.reply.reasons.count == 1)
        #expect(program.outcome() == .doneWithLoss)
        let before = await engine.measured
        _ = await program.metrics()
        #expect(await engine.measured == before + 1, "a page has the counts as they are now")
    }

    @Test(arguments: [(3_599.6, "3600 s ahead of"), (-7_200.4, "7200 s behind")])
    func aWrongClockIsReported(seconds: Double, text: String) async throws {
        let health = Health()
        let engine = try ScriptedEngine(health: health)
        await engine.tell { $0.emit(.wrongClock(of: "phone", ahead: seconds, ": set it")) }
        #expect(health.reply.reasons == ["the clock of phone is \(text) this machine's: set it"])
    }

    @Test func effectsAreTakenInTheirOrderAndOnce() {
        let core = ScriptedCore()
        for number in 0..<3 { core.emit(.write(number)) }
        var taken: [ScriptedCore.Effect] = [.count]
        #expect(core.takeEffects(into: &taken))
        let numbers = taken.compactMap { if case .write(let number) = $0 { number } else { nil } }
        #expect(numbers == [0, 1, 2])
        #expect(taken.count == 4)
        #expect(!core.takeEffects(into: &taken))
        #expect(core.takeEffects().isEmpty)
    }
}
