import MessageBus
import Messages
import Synchronization
import TestSupport
import Testing
import ZeroMQ

/// Somebody who listens to a program, and notices when it is no longer there.
final class HonestSubscriber: Sendable {
    private let subscriber: Subscriber
    private let endpoint: String
    /// How long it may have to wait for the next sample, while attacks take the processors of a slow machine.
    private static let longestSilence = Duration.seconds(30)
    /// The sample of the only stream that is expected next, how many did not come in their turn, and how long none came.
    private let heard = Mutex<(next: Int?, outOfTurn: Int, silence: Duration)>((nil, 0, .zero))

    /// Connects.
    init(to victim: Victim) async throws {
        endpoint = victim.ready.publish
        var options = SocketOptions()
        // A program that does not answer for as long as this is gone.
        options.heartbeat = Self.longestSilence
        subscriber = try Subscriber(context: victim.context, thread: victim.thread, options: options)
        try await subscriber.subscribe(to: TopicArea.samples)
        try await subscriber.connect(to: endpoint)
        try await eventually("a connection to \(endpoint)") {
            self.subscriber.connectionEvents.handshakes > 0
        }
    }

    /// Whether its first connection lasts.
    var isServed: Bool { subscriber.connectionEvents.disconnected == 0 }

    /// Checks that it was never cut off.
    /// - Parameters:
    ///   - attack: what has gone before.
    ///   - victim: whose log says which connections were cut, and why.
    func checkIsThere(after attack: String, of victim: Victim) {
        let events = subscriber.connectionEvents
        let log = victim.program.standardError.split(separator: "\n").suffix(20).joined(separator: "\n")
        #expect(events.disconnected == 0, "\(attack): \(events)\n\(log)")
    }

    /// Listens while a closure runs.
    /// - Parameter isHeard: whether the program publishes one stream: then no sample of it may be missing.
    func whileListening(isHeard: Bool, _ body: () async throws -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try? await self.listen() }
            defer { tasks.cancelAll() }
            try await body()
        }
        let heard = heard.withLock { $0 }
        if isHeard {
            #expect(heard.next != nil)
            #expect(heard.outOfTurn == 0)
            #expect(heard.silence < Self.longestSilence)
        }
    }

    private func listen() async throws {
        var last = ContinuousClock.now
        try await subscriber.forEachBatch { batch in
            let now = ContinuousClock.now
            heard.withLock { $0.silence = max($0.silence, now - last) }
            last = now
            try batch.withUnsafeMessages { messages in
                for message in 0..<messages.count {
                    let body = try SampleBody(try EventFrames(message, of: messages).body)
                    heard.withLock { heard in
                        if let next = heard.next, next != body.sequence { heard.outOfTurn += 1 }
                        heard.next = body.sequence + body.count
                    }
                }
            }
        }
    }
}
