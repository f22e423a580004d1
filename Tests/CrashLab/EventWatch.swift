import MessageBus
import Messages
import ZeroMQ

/// Hears what the recorder says of its sessions.
struct EventWatch {
    /// What was said of a session that failed, and when it was said.
    struct Failure {
        let reason: String
        let heard: Instant
    }

    private let subscriber: Subscriber

    /// Starts to listen to the recorder that runs now, and returns when it is sure to hear everything.
    init(_ rig: Rig) async throws {
        subscriber = try Subscriber(context: rig.lab.context, thread: rig.lab.thread)
        try await subscriber.subscribe(to: TopicArea.recording)
        try await subscriber.connect(to: rig.eventsEndpoint)
        // A subscription has no acknowledgement; the connection's handshake and a little more has to do.
        try await Task.sleep(for: .milliseconds(150))
    }

    /// How a session failed, by what was said until now; nil if it did not.
    func failure(of session: String) async throws -> Failure? {
        var failure: Failure?
        while true {
            let batch = try await subscriber.next(deadline: MonotonicClock.now + 200_000_000)
            if batch.isEmpty { return failure }
            try batch.withUnsafeMessages { messages in
                for message in 0..<messages.count {
                    let event = try EventFrames(message, of: messages).decode(RecordingEvent.self)
                    // One that names a stream is about its sensor.
                    guard failure == nil, event.session == session, event.change == .failure, event.stream == nil
                    else { continue }
                    let now = Instant.now
                    let wall = Double(event.date.nanosecondsSince1970) / 1e9
                    failure = Failure(
                        reason: event.reason ?? "",
                        heard: Instant(monotonic: now.monotonic - Int64((now.wall - wall) * 1e9), wall: wall))
                }
            }
        }
    }
}
