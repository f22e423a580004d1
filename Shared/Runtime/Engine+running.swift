import Messages
import ServiceKit
import ZeroMQ

extension Engine {
    /// How long is done what is due before requests and messages have their turn: to give way costs two switches of threads.
    @inlinable static var longestTurn: Int64 { 2_000_000 }
    @inlinable static var measureInterval: Int64 { 1_000_000_000 }

    /// Runs until the program is told to stop: wakes the core in time, carries out what is queued, and publishes events.
    /// - Parameters:
    ///   - parts: what else runs meanwhile, each until it is cancelled.
    ///   - finish: what is still to be done when the program is told to stop.
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

    /// Does what is due by time.
    @inlinable func keepTime() async throws {
        while true {
            runtime.wakeTime = min(core.nextDeadline, runtime.waits.nextDeadline)
            if runtime.wakeTime > MonotonicClock.now {
                try await thread.sleep(until: runtime.wakeTime, interruptedBy: runtime.interruption)
            } else {
                try Task.checkCancellation()
                await Task.yield()
            }
            // Nobody needs to wake it meanwhile.
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

    /// Carries out the effects of a queue.
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

    /// - Returns: whether there was one.
    @discardableResult
    private func carryOutNext(of name: Queue) async throws -> Bool {
        guard let effect = runtime.queue(name).next() else { return false }
        try await carryOutQueued(effect)
        perform()
        return true
    }
}
