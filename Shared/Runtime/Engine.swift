package import Logging
package import MessageBus
package import Messages
package import Metrics
package import ServiceKit
package import ServiceLifecycle
package import ZeroMQ

/// Runs a core in real time: passes events with their time to it, and carries out its effects.
///
/// An actor on a thread of its own. Each call of the core must be followed by `perform`. The runtime has the threads, clocks,
/// sleeps, tasks and queues; an engine determines how each effect is carried out, and answers requests.
package protocol Engine: Actor, Service {
    associatedtype Core: ProgramCore
    associatedtype Queue: EffectQueueName = NoQueue

    /// The thread of `unownedExecutor`.
    nonisolated var thread: SocketThread { get }
    var core: Core { get }
    var runtime: Runtime<Core.Effect, Queue> { get }

    var now: Moment { get }

    /// The queue that an effect waits in; nil if it is carried out at once.
    static func queue(of effect: Core.Effect) -> Queue?

    /// Carries out an effect without a queue. Messages to publish are added to the runtime's `outgoing`.
    func carryOut(_ effect: Core.Effect)

    /// Carries out an effect from its queue, and passes the result to the core.
    func carryOutQueued(_ effect: Core.Effect) async throws

    /// Copies counts to health, which `/metrics` reads too. Called at most once a second, and before each page.
    func measure()

    /// Counts that are computed only on demand, because they read the disk or visit each stream.
    var metrics: MetricsPage { get }
}

extension Engine {
    package var now: Moment { runtime.now }

    package var health: Health { runtime.health }

    package var logger: Logger { runtime.logger }

    /// This machine's clocks, for code that works beside the engine.
    package static var clock: @Sendable () -> Moment { { Runtime<Core.Effect, Queue>.now } }

    /// A clock that continues while the machine sleeps, in nanoseconds.
    package static var elapsedClock: @Sendable () -> Int64 { { BootClock.now } }

    package static func queue(of effect: Core.Effect) -> Queue? { nil }

    package func carryOutQueued(_ effect: Core.Effect) async throws {
        preconditionFailure("\(Self.self) has no queues")
    }

    package func measure() {}

    package var metrics: MetricsPage { MetricsPage() }

    // MARK: Effects

    /// Carries out the effects, or puts them into their queues, and publishes the messages that they added to `outgoing`. Call
    /// it after every call of the core that changes something.
    @inlinable package func perform() {
        carryOutEffects()
        runtime.publishOutgoing()
        runtime.resumeWaits()
        runtime.wake(before: core.nextDeadline)
    }

    /// The part of `perform` that each step of a turn needs.
    package func carryOutEffects() {
        // Carrying out an effect may call this function again.
        var effects: [Core.Effect] = []
        swap(&effects, &runtime.effects)
        while core.takeEffects(into: &effects) {
            for effect in effects {
                if let queue = Self.queue(of: effect) { runtime.add(effect, to: queue) } else { carryOut(effect) }
                publishIfMany()
            }
            effects.removeAll(keepingCapacity: true)
        }
        swap(&effects, &runtime.effects)
    }

    /// Carries out all effects one after the other, including those with a queue, before the engine runs.
    package func performInTurn() async throws {
        runtime.isStarting = true
        defer { runtime.isStarting = false }
        var effects: [Core.Effect] = []
        while core.takeEffects(into: &effects) {
            for effect in effects {
                if Self.queue(of: effect) == nil { carryOut(effect) } else { try await carryOutQueued(effect) }
                publishIfMany()
            }
            effects.removeAll(keepingCapacity: true)
        }
        runtime.publishOutgoing()
    }

    /// Returns once all events so far are published: for use before an action that would delete the data they report.
    package func publishAll() async {
        // Before the engine runs, events are published at once.
        if !runtime.isStarting { await outbox.drain() }
    }

    private func publishIfMany() {
        if runtime.outgoing.byteCount >= EventPublisher.burst { runtime.publishOutgoing() }
    }

    // MARK: Messages

    /// Passes the frames of each message to `body`. A message for which it throws is counted and dropped.
    /// - Parameter body: receives the frames, and the message's index in the batch.
    @inlinable package func forEachEvent(
        in batch: MessageBatch, _ body: (EventFrames, UnsafeMessages, Int) throws -> Void
    ) {
        batch.withUnsafeMessages { messages in
            for message in 0..<messages.count {
                do {
                    try body(EventFrames(message, of: messages), messages, message)
                } catch {
                    runtime.tell(.malformed(error))
                }
            }
        }
    }

    // MARK: Waiting

    /// Returns when a condition holds, or at a time on the monotonic clock. Everything that can change the condition is
    /// followed by `perform`.
    /// - Parameter group: tasks of the same group wait together for the same condition, until the deadline of the first.
    package func wait(
        until deadline: Int64 = .max, together group: AnyHashable? = nil, for isSo: @escaping () -> Bool
    ) async throws {
        if isSo() || now.monotonic >= deadline { return }
        let over = runtime.waits.add(until: deadline, group: group, for: isSo)
        runtime.wake(before: core.nextDeadline)
        guard await over.next(on: thread) != nil else { throw CancellationError() }
    }
}
