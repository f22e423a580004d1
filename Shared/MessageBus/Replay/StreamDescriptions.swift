package import Messages

/// Reads publishers' descriptions of many streams.
package struct StreamDescriptions {
    /// The maximum number of remembered streams: a hostile publisher could use new names without end.
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
    /// A publisher describes each stream every second. If it has not done so for this long, in nanoseconds, it is not running
    /// or not reachable, and asking it would only delay the client.
    package static let life: Int64 = 5_000_000_000
}
