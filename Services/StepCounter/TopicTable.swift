import Messages

/// Finds what belongs to a topic by its bytes, without making a text of them. As many topics as there are streams: the
/// order of their batches is nobody's to tell.
struct TopicTable<Value> {
    private struct Entry {
        let topic: [UInt8]
        let value: Value
    }

    private var entries: [Entry] = []
    /// The places of the topics with a hash. Two with the same are a rarity.
    private var places: [Int: [Int]] = [:]

    /// What belongs to a topic; nil for an unknown one.
    func value(of topic: UnsafeRawBufferPointer) -> Value? {
        guard let places = places[Self.hash(topic)] else { return nil }
        return places.first { topic.isSame(as: entries[$0].topic) }.map { entries[$0].value }
    }

    /// Adds a topic, which must not be there.
    mutating func add(_ topic: [UInt8], _ value: Value) {
        places[topic.withUnsafeBytes { Self.hash($0) }, default: []].append(entries.count)
        entries.append(Entry(topic: topic, value: value))
    }

    private static func hash(_ topic: UnsafeRawBufferPointer) -> Int {
        var hasher = Hasher()
        hasher.combine(bytes: topic)
        return hasher.finalize()
    }
}
