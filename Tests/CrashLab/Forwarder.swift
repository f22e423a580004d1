import Messages
import Synchronization
import TestSupport
import ZeroMQ

/// A proxy between publisher and recorder: forwards each message unchanged, and keeps every sample that passes.
///
/// Each sample is kept before it is forwarded, so the oracle knows every sample that the recorder can have.
final class Forwarder: Sendable {
    let samples = PublishedSamples()
    /// The endpoint to which the recorder subscribes.
    let endpoint: String

    private let subscriber: Subscriber
    private let publisher: Publisher
    /// The probability that a batch is dropped, and the random numbers for it.
    private let loss: Mutex<(rate: Double, random: SplitMix)>

    /// Opens the sockets.
    /// - Parameter publisher: the PUB endpoint of the real publisher, which need not run yet.
    init(from publisher: String, in lab: Laboratory) async throws {
        var options = SocketOptions()
        var publishing = SocketOptions.publishing
        if let keys = lab.keys {
            options.security = try keys.listening(to: "sensor-publisher")
            publishing.security = try keys.standing(in: "sensor-publisher")
        }
        options.receiveHighWaterMark = 100_000
        // As many as a publisher of this many streams has.
        publishing.sendHighWaterMark = max(publishing.sendHighWaterMark, 10 * lab.streams)
        options.reconnectInterval = .milliseconds(10)
        subscriber = try Subscriber(context: lab.context, thread: lab.thread, options: options)
        try await subscriber.subscribe(to: "")
        try await subscriber.connect(to: publisher)
        self.publisher = try Publisher(context: lab.context, options: publishing)
        endpoint = try self.publisher.bind(to: "tcp://127.0.0.1:*")
        loss = Mutex((0, SplitMix(seed: lab.seed, for: "loss")))
    }

    /// Drops this percentage of batches from now on.
    func lose(percent: Int) { loss.withLock { $0.rate = Double(percent) / 100 } }

    /// Forwards until the task is cancelled.
    func run() async throws {
        var batch = MessageBatch()
        var forwarded = MessageBatch()
        while true {
            batch = try await subscriber.next(reusing: consume batch)
            forwarded.removeAll()
            batch.withUnsafeMessages { messages in
                for message in 0..<messages.count { forward(message, of: messages, in: &forwarded) }
            }
            try publisher.publish(forwarded)
        }
    }

    private func forward(_ message: Int, of messages: UnsafeMessages, in forwarded: inout MessageBatch) {
        let frames = (0..<messages.frameCount(of: message)).map { messages.frame($0, of: message) }
        let isSamples = frames[0].starts(with: TopicArea.samples.utf8)
        if isSamples, frames.count >= 3,
            let batch = HeardBatch(body: frames[1], packed: frames.count > 3 ? frames[3] : nil)
        {
            samples.add(batch, at: MonotonicClock.now)
        }
        let isLost = isSamples && loss.withLock { $0.rate > 0 && $0.random.happens($0.rate) }
        guard !isLost else { return }
        for frame in frames { forwarded.appendFrame(frame) }
        forwarded.endMessage()
    }
}
