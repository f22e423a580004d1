import MessageBus
import Messages
import ZeroMQ

/// Listens to the recorder's events about its sessions.
struct EventWatch {
    /// The event of a failed session, and when it was heard.
    struct Failure {
        let reason: String
        let heard: Instant
    }

    private let subscriber: Subscriber

    /// Subscribes to the running recorder, and returns when it is sure to hear every event.
    init(_ rig: Rig) async throws {
        subscriber = try Subscriber(context: rig.lab.context, thread: rig.lab.thread)
        try await subscriber.subscribe(to: TopicArea.recording)
        try await subscriber.connect(to: rig.eventsEndpoint)
        // A subscription has no acknowledgement; this leaves time for the connection's handshake.
        try await Task.sleep(for: .milliseconds(150))
    }

    /// The session's failure, from the events so far; nil if it did not fail.
    func failure(of session: String) async throws -> Failure? {
        var failure: Failure?
        while true {
            let batch = try await subscriber.next(deadline: MonotonicClock.now + 200_000_000)
            if batch.isEmpty { return failure }
            try batch.withUnsafeMessages { messages in
                for message in 0..<messages.count {
                    let event = try EventFrames(message, of: messages).decode(RecordingEvent.self)
                    // A failure event that names a stream is about its sensor.
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
