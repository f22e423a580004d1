import MessageBus
import Messages
import Synchronization
import TestSupport
import Testing
import ZeroMQ

/// An honest subscriber that notices when the program disconnects it.
final class HonestSubscriber: Sendable {
    private let subscriber: Subscriber
    private let endpoint: String
    /// The longest wait for the next sample, while attacks occupy the processors of a slow machine.
    private static let longestSilence = Duration.seconds(30)
    /// For the only stream: the next expected sample, the number of samples out of turn, and the longest silence.
    private let heard = Mutex<(next: Int?, outOfTurn: Int, silence: Duration)>((nil, 0, .zero))

    init(to victim: Victim) async throws {
        endpoint = victim.ready.publish
        var options = SocketOptions()
        // A program that does not respond for this long is gone.
        options.heartbeat = Self.longestSilence
        subscriber = try Subscriber(context: victim.context, thread: victim.thread, options: options)
        try await subscriber.subscribe(to: TopicArea.samples)
        try await subscriber.connect(to: endpoint)
        try await eventually("a connection to \(endpoint)") {
            self.subscriber.connectionEvents.handshakes > 0
        }
    }

    /// Whether the subscriber's first connection still lasts.
    var isServed: Bool { subscriber.connectionEvents.disconnected == 0 }

    /// Checks that the program never disconnected the subscriber.
    /// - Parameters:
    ///   - attack: the attack that preceded the check.
    ///   - victim: the program, whose log names the closed connections and the reasons.
    func checkIsThere(after attack: String, of victim: Victim) {
        let events = subscriber.connectionEvents
        let log = victim.program.standardError.split(separator: "\n").suffix(20).joined(separator: "\n")
        #expect(events.disconnected == 0, "\(attack): \(events)\n\(log)")
    }

    /// Listens while a closure runs.
    /// - Parameter isHeard: whether the program publishes one stream, of which no sample may be missing.
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
