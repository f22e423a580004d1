import MessageBus
import Messages
import ZeroMQ

/// Receives all events of one publisher, in order.
final class Listener {
    /// An event.
    enum Heard {
        case description(StreamDescription)
        case batch(HeardBatch)
    }

    private let subscriber: Subscriber
    private var waiting: [Heard] = []

    /// Subscribes; every event published after this returns is received.
    init(to endpoint: String, context: Context, thread: SocketThread) async throws {
        subscriber = try Subscriber(context: context, thread: thread)
        // The publisher processes subscriptions in order: a listener that receives descriptions also receives samples.
        try await subscriber.subscribe(to: TopicArea.samples)
        try await subscriber.subscribe(to: TopicArea.stream)
        try await subscriber.connect(to: endpoint)
        let first = try await next()
        waiting.insert(first, at: 0)
    }

    /// The next event.
    func next() async throws -> Heard {
        while waiting.isEmpty {
            let batch = try await subscriber.next()
            for message in 0..<batch.count {
                let frames = batch[message]
                if frames[0].starts(with: TopicArea.stream.utf8) {
                    waiting.append(.description(try WireCoding.decode(StreamDescription.self, from: frames[1])))
                } else {
                    let body = try WireCoding.decode(SampleBatch.self, from: frames[1])
                    waiting.append(.batch(HeardBatch(body, packed: frames.count > 3 ? frames[3] : nil)))
                }
            }
        }
        return waiting.removeFirst()
    }

    /// The next batch; earlier descriptions are skipped.
    func nextBatch() async throws -> HeardBatch {
        while true {
            if case .batch(let batch) = try await next() { return batch }
        }
    }

    /// All batches up to the next description that fulfils a condition, and that description.
    func batches(
        until matches: (StreamDescription) -> Bool
    ) async throws -> (batches: [HeardBatch], description: StreamDescription) {
        var batches: [HeardBatch] = []
        while true {
            switch try await next() {
            case .batch(let batch): batches.append(batch)
            case .description(let description): if matches(description) { return (batches, description) }
            }
        }
    }
}
