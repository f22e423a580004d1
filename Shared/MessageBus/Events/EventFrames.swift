public import Messages
public import ZeroMQ

/// The frames of a received event, lent for the duration of a closure.
public struct EventFrames {
    /// The event's topic.
    public let topic: UnsafeRawBufferPointer
    /// The JSON body.
    public let body: UnsafeRawBufferPointer
    /// When the event was published: decimal text.
    public let time: UnsafeRawBufferPointer
    /// The samples of a packed batch.
    public let packed: UnsafeRawBufferPointer?

    /// Creates the event from separate frames.
    package init(
        topic: UnsafeRawBufferPointer, body: UnsafeRawBufferPointer, time: UnsafeRawBufferPointer,
        packed: UnsafeRawBufferPointer? = nil
    ) {
        self.topic = topic
        self.body = body
        self.time = time
        self.packed = packed
    }

    /// Finds the frames of one message of a batch.
    /// - Throws: `MessageError` if there are fewer than three.
    public init(_ message: Int, of messages: UnsafeMessages) throws(MessageError) {
        let count = messages.frameCount(of: message)
        guard count >= 3 else {
            throw MessageError(.malformed, "an event has three frames, topic, body and time; this one has \(count)")
        }
        topic = messages.frame(0, of: message)
        body = messages.frame(1, of: message)
        time = messages.frame(2, of: message)
        packed = count > 3 ? messages.frame(3, of: message) : nil
    }

    /// Whether the topic starts with `area`.
    public func isIn(_ area: String) -> Bool {
        topic.starts(with: area.utf8)
    }

    /// Decodes the body of an infrequent event.
    /// - Throws: `DecodingError`, or `MessageError` for another schema.
    public func decode<Value: Event>(_ type: Value.Type) throws -> Value {
        let event = try WireCoding.decode(type, from: body)
        guard event.schema == Value.schema else {
            throw MessageError(.wrongSchema, "expected \(Value.schema), found \(event.schema)")
        }
        return event
    }
}
