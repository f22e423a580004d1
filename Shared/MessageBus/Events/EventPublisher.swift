public import Messages
public import ZeroMQ

/// Publishes events as frames, `topic | body | time` [`| packed`], from any thread.
public final class EventPublisher: Sendable {
    private let publisher: Publisher

    /// Creates a publisher over an open PUB socket.
    public init(_ publisher: Publisher) {
        self.publisher = publisher
    }

    /// Opens a PUB socket and binds it.
    /// - Returns: the publisher, and its endpoint with the actual port instead of `*`.
    public static func listening(
        on endpoint: String, context: Context, thread: SocketThread, options: SocketOptions = .publishing
    ) throws -> (publisher: EventPublisher, endpoint: String) {
        let publisher = try Publisher(context: context, thread: thread, options: options)
        let endpoint = try publisher.bind(to: endpoint)
        return (EventPublisher(publisher), endpoint)
    }

    /// The socket's connection events so far.
    public var connectionEvents: ConnectionEvents { publisher.connectionEvents }

    /// Publishes an event under its topic, with the current time.
    public func publish(_ event: some Event) throws {
        try publisher.publish([Array(event.topic.utf8), WireCoding.encode(event), EventTime.text(of: .now)])
    }

    /// The size in bytes up to which events are collected before they are published: less than a millisecond's work.
    package static let burst = 1 << 16

    /// Publishes encoded events, in order.
    public func publish(_ events: MessageBatch) throws { try publisher.publish(events) }
}
