package import Messages

/// Reads what publishers say of their streams, of many streams at once.
package struct StreamDescriptions {
    /// Streams that are remembered: a stranger could publish under ever new names.
    private static let maximumNames = 16_384

    private var readers = TopicTable<StreamDescriptionReader>()

    package init() {}

    /// Reads the body of a description.
    /// - Throws: `DecodingError`, or `MessageError` for another schema.
    package mutating func read(_ frames: EventFrames) throws -> StreamDescription {
        if let reader = readers.value(of: frames.topic) { return try reader.read(frames.body) }
        if readers.count >= Self.maximumNames { readers = TopicTable() }
        let reader = StreamDescriptionReader()
        let description = try reader.read(frames.body)
        readers.add(frames.topic, reader)
        return description
    }
}

extension StreamDescription {
    /// Publishers describe their streams each second. One that has not done so for this long, in nanoseconds, is not running or not
    /// reachable: asking it would only hold up who asks.
    package static let life: Int64 = 5_000_000_000
}
