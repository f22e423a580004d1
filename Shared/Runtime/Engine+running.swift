import Messages
import ServiceKit
import ZeroMQ

extension Engine {
    /// How long due work runs before requests and messages have their turn, in nanoseconds: yielding costs two thread switches.
    @inlinable static var longestTurn: Int64 { 2_000_000 }
    @inlinable static var measureInterval: Int64 { 1_000_000_000 }

    /// Runs until the program shuts down: wakes the core in time, carries out queued effects, and publishes events.
    /// - Parameters:
    ///   - parts: further parts, each of which runs until it is cancelled.
    ///   - finish: runs when the program begins to shut down.
    @inlinable package nonisolated func serve(
        _ parts: (@Sendable () async throws -> Void)..., finish: @escaping @Sendable () async -> Void = {}
    ) async throws {
        let outbox = await outbox
        var all: [@Sendable () async throws -> Void] = [{ try await self.keepTime() }, { try await outbox.run() }]
        for queue in Queue.allCases { all.append { try await self.work(on: queue) } }
        try await runTogether(all + parts) {
            await finish()
            await outbox.drain()
        }
    }

    @usableFromInline var outbox: Outbox { runtime.outbox }

    // MARK: Time

    /// Wakes the core when its deadline has come.
    @inlinable func keepTime() async throws {
        while true {
            runtime.wakeTime = min(core.nextDeadline, runtime.waits.nextDeadline)
            if runtime.wakeTime > MonotonicClock.now {
                try await thread.sleep(until: runtime.wakeTime, interruptedBy: runtime.interruption)
            } else {
                try Task.checkCancellation()
                await Task.yield()
            }
            // While awake, the engine needs no wake-up.
            runtime.wakeTime = .min
            takeTurn()
        }
    }

    @inlinable func takeTurn() {
        var now = self.now
        let end = now.monotonic + Self.longestTurn
        while core.nextDeadline <= now.monotonic, now.monotonic < end {
            core.wake(at: now)
            carryOutEffects()
            now = self.now
        }
        perform()
        guard now.monotonic >= runtime.measuredAt + Self.measureInterval else { return }
        runtime.measuredAt = now.monotonic
        measure()
    }

    // MARK: Queues

    @usableFromInline func work(on name: Queue) async throws {
        let queue = runtime.queue(name)
        if name.order == .atOnce {
            try await withThrowingDiscardingTaskGroup { group in
                while await queue.added.next(on: thread) != nil {
                    for _ in 0..<queue.takeAdded() { group.addTask { try await self.carryOutNext(of: name) } }
                }
                throw CancellationError()
            }
        } else {
            while await queue.added.next(on: thread) != nil {
                while try await carryOutNext(of: name) { try Task.checkCancellation() }
            }
        }
        throw CancellationError()
    }

    /// - Returns: whether there was an effect.
    @discardableResult
    private func carryOutNext(of name: Queue) async throws -> Bool {
        guard let effect = runtime.queue(name).next() else { return false }
        try await carryOutQueued(effect)
        perform()
        return true
    }
}
