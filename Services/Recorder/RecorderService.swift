import MessageBus
import Messages
import Recording
import ServiceKit
import ServiceLifecycle
import ZeroMQ

/// Runs a recorder: pulls from the bus into the engine, commits, and carries out what the engine orders.
struct RecorderService: Service {
    /// How long one answer to a request for missing samples may take.
    private static let replayTimeout = Duration.seconds(2)
    /// The pause before a publisher that did not answer is asked again.
    private static let retryPause = Duration.milliseconds(100)

    let engine: RecordingEngine
    let subscriber: Subscriber
    let settings: RecorderSettings

    /// Opens the socket that listens to the publishers.
    static func subscriber(on host: ServiceHost, settings: RecorderSettings) async throws -> Subscriber {
        var options = SocketOptions()
        options.receiveHighWaterMark = settings.receiveHighWaterMark
        let subscriber = try Subscriber(context: host.context, thread: host.thread, options: options)
        try await subscriber.subscribe(to: TopicArea.stream)
        for endpoint in settings.subscribe { try await subscriber.connect(to: endpoint.description) }
        return subscriber
    }

    func run() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await pull() }
            group.addTask { try await engine.commitRegularly() }
            group.addTask { try await engine.compareClocksRegularly() }
            group.addTask { try await carryOutOrders() }
            group.addTask {
                try? await gracefulShutdown()
                // Sessions end with everything that was sampled so far; only then does the pulling end.
                await engine.stopAll()
                throw CancellationError()
            }
            // Each part runs until it is cancelled, so the first that ends, ends all.
            do {
                try await group.next()
            } catch is CancellationError {}
            group.cancelAll()
        }
    }

    private func pull() async throws {
        var batch = MessageBatch()
        while true {
            batch = try await subscriber.next(reusing: consume batch)
            await engine.take(batch)
        }
    }

    private func carryOutOrders() async throws {
        try await withThrowingDiscardingTaskGroup { group in
            for await order in engine.orders {
                group.addTask {
                    switch order {
                    case .recover(let session, let stream): try await recover(stream, in: session)
                    case .stop(let session): await engine.stop(session)
                    case .configure: await engine.configureDescribed()
                    }
                }
            }
            throw CancellationError()
        }
    }

    /// Asks for a stream's missing samples until none is missing, or its publisher did not answer for too long.
    private func recover(_ stream: StreamName, in session: SessionIdentifier) async throws {
        var deadline = MonotonicClock.now + settings.recoveryLimit.nanoseconds
        var client: RequestClient?
        while let missing = await engine.missing(stream, in: session) {
            let request = missing.request
            do {
                if client?.endpoint != missing.endpoint { client = nil }
                let publisher = try client ?? engine.publishers.client(for: missing.endpoint)
                client = publisher
                let limit = min(Self.replayTimeout, .nanoseconds(max(1_000_000, deadline - MonotonicClock.now)))
                let (reply, frames) = try await publisher.sendForFrames(request, timeout: limit)
                await engine.take(reply, frames, for: request, in: session)
                deadline = MonotonicClock.now + settings.recoveryLimit.nanoseconds
            } catch let error as RequestError {
                let isGone = error.data?.reason == RequestError.Reason.unknownEpoch.word
                await engine.giveUp(request, reason: isGone ? .epochEnded : .notRetained, in: session)
            } catch is MessageError {
                await engine.giveUp(request, reason: .malformed, in: session)
            } catch is ZeroMQError {
                guard MonotonicClock.now < deadline else {
                    await engine.giveUp(request, reason: .publisherUnreachable, in: session)
                    // What is missing next gets its own time.
                    deadline = MonotonicClock.now + settings.recoveryLimit.nanoseconds
                    continue
                }
                try await Task.sleep(for: Self.retryPause)
            }
        }
    }
}
