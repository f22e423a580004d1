package import Logging
package import MessageBus
package import Messages
package import ServiceKit
package import ZeroMQ

/// The state that an engine runs its core with: queues of effects, waiting tasks, the next deadline, and the outlets for
/// notices. Belongs to the engine's thread.
package final class Runtime<Effect, Queue: EffectQueueName> {
    /// How long health reports a failure to publish.
    private static var failureLife: Duration { .seconds(60) }

    package let health: Health
    package let logger: Logger
    package let loss = LossFlag()
    @usableFromInline let outbox: Outbox
    /// Messages that a turn's effects publish, sent together: sending each one alone would wake the sending thread each time.
    package var outgoing = MessageBatch()
    /// Whether effects are carried out before the engine runs: nothing waits for the thread then, so nothing is deferred.
    var isStarting = false
    package var malformed: MalformedMessages

    /// The effects that are being carried out; reused to save allocations.
    package var effects: [Effect] = []
    private let queues = Queue.allCases.map { EffectQueue<Effect>($0.order) }

    @usableFromInline var waits = WaitList()
    /// When the engine wakes by itself, on the monotonic clock; `.min` while it is awake.
    package var wakeTime = Int64.min
    @usableFromInline let interruption = Interruption()
    /// When the engine's counts were last copied to health, on the monotonic clock.
    @usableFromInline var measuredAt = Int64.min

    /// - Parameter events: nil if nothing is published.
    package init(events: EventPublisher?, health: Health, logger: Logger) {
        self.health = health
        self.logger = logger
        outbox = Outbox(events, logger: logger)
        malformed = MalformedMessages(health: health, logger: logger)
    }

    package convenience init(_ host: ServiceHost) {
        self.init(events: host.publisher, health: host.health, logger: host.logger)
    }

    /// The current moment, on both of this machine's clocks.
    package var now: Moment { Self.now }

    static var now: Moment { .now }

    /// The current time, on the monotonic clock alone.
    package var monotonic: Int64 { MonotonicClock.now }

    /// The current time, on the wall clock alone.
    package var date: WallTime { .now }

    package func tell(_ notice: Notice) {
        switch notice {
        case .publish(let event): if isStarting { outbox.publish(event) } else { outbox.add(event) }
        case .log(let level, let message, let metadata): logger.log(level: level, message, metadata: metadata)
        case .report(let severity, let sentence, let key, let span):
            health.report(severity, sentence, for: key, lasting: span)
        case .clear(let key): health.clear(key)
        case .malformed(let error): malformed.note(error, at: now.monotonic)
        case .lost: loss.raise()
        }
    }

    /// Publishes the messages in `outgoing`.
    @usableFromInline func publishOutgoing() {
        guard !outgoing.isEmpty else { return }
        do {
            try outbox.publish(outgoing)
        } catch {
            logger.warning("messages not published", metadata: [LogKey.error: "\(error)"])
            tell(
                .report(
                    .failing, "messages can't be published: \(error)", for: "publishing", lasting: Self.failureLife))
        }
        outgoing.removeAll()
    }

    package func add(_ effect: Effect, to queue: Queue) { self.queue(queue).add(effect) }

    func queue(_ name: Queue) -> EffectQueue<Effect> { queues[name.rawValue] }

    /// Ends the waits whose condition holds or whose deadline has passed.
    package func resumeWaits() {
        if !waits.isEmpty { waits.resume(at: MonotonicClock.now) }
    }

    /// Wakes the engine if something is due before it would wake by itself.
    package func wake(before deadline: Int64) {
        guard min(deadline, waits.isEmpty ? .max : waits.nextDeadline) < wakeTime else { return }
        wakeTime = .min
        interruption.raise()
    }
}
