public import Messages
public import ZeroMQ

/// Publishes events as frames, `topic | body | time` [`| packed`], from any thread.
public final class EventPublisher: Sendable {
    private let publisher: Publisher

    /// Publishes over an open PUB socket.
    public init(_ publisher: Publisher) {
        self.publisher = publisher
    }

    /// Opens a PUB socket and listens.
    /// - Returns: the publisher, and its endpoint with the real port where `*` was asked.
    public static func listening(
        on endpoint: String, context: Context, thread: SocketThread, options: SocketOptions = .publishing
    ) throws -> (publisher: EventPublisher, endpoint: String) {
        let publisher = try Publisher(context: context, thread: thread, options: options)
        let endpoint = try publisher.bind(to: endpoint)
        return (EventPublisher(publisher), endpoint)
    }

    /// What happened to the socket's connections so far.
    public var connectionEvents: ConnectionEvents { publisher.connectionEvents }

    /// Publishes an event under its topic, stamped with this instant.
    public func publish(_ event: some Event) throws {
        try publisher.publish([Array(event.topic.utf8), WireCoding.encode(event), EventTime.text(of: .now)])
    }

    /// How many bytes of events are put together before they are published: less than a millisecond's work.
    package static let burst = 1 << 16

    /// Publishes events that are encoded already, in their order.
    public func publish(_ events: MessageBatch) throws { try publisher.publish(events) }
}
