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

    /// Publishes a batch that is encoded already, without allocating.
    /// - Parameters:
    ///   - topic: `samples/<device>/<stream>`.
    ///   - body: the JSON body.
    ///   - packed: the matrix, for a packed stream.
    ///   - time: the instant that the third frame names.
    public func publish(
        topic: [UInt8], body: borrowing ByteBuffer, packed: borrowing ByteBuffer?, at time: WallTime
    ) throws {
        let time = EventTime.text(of: time)
        try topic.withUnsafeBytes { topic in
            try body.withUnsafeBytes { body in
                try time.withUnsafeBytes { time in
                    switch packed {
                    case .some(let packed): try packed.withUnsafeBytes { try publish(topic, body, time, $0) }
                    case .none: try publish(topic, body, time, nil)
                    }
                }
            }
        }
    }

    /// Publishes an event as it was published elsewhere, with the instant that its frame `time` names.
    package func publish(topic: [UInt8], body: [UInt8], packed: [UInt8]?, time: [UInt8]) throws {
        try topic.withUnsafeBytes { topic in
            try body.withUnsafeBytes { body in
                try time.withUnsafeBytes { time in
                    try packed.withOptionalBytes { try publish(topic, body, time, $0) }
                }
            }
        }
    }

    private func publish(
        _ topic: UnsafeRawBufferPointer, _ body: UnsafeRawBufferPointer, _ time: UnsafeRawBufferPointer,
        _ packed: UnsafeRawBufferPointer?
    ) throws {
        try withUnsafeTemporaryAllocation(of: UnsafeRawBufferPointer.self, capacity: 4) { frames in
            frames[0] = topic
            frames[1] = body
            frames[2] = time
            if let packed { frames[3] = packed }
            try publisher.publish(UnsafeBufferPointer(rebasing: frames[..<(packed == nil ? 3 : 4)]))
        }
    }
}
