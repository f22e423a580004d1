import Messages

/// Looks up values by a topic's bytes, without making a text of them. It holds all streams' topics, because the order of their
/// batches is unknown.
///
/// It and its index are classes, because a lookup in a value type would copy the table.
public final class TopicTable<Value> {
    @usableFromInline let topics = TopicIndex()
    @usableFromInline var values: [Value] = []

    /// Creates an empty table.
    @inlinable public init() {}

    /// The number of topics.
    @inlinable public var count: Int { values.count }

    /// The value of a topic; nil for an unknown one.
    @inlinable public func value(of topic: UnsafeRawBufferPointer) -> Value? {
        // Not `map`: as generic code it would run for each message.
        guard let index = topics.index(of: topic) else { return nil }
        return values[index]
    }

    /// Adds a topic, which must be new.
    @inlinable public func add(_ topic: UnsafeRawBufferPointer, _ value: Value) {
        values.append(value)
        topics.add(topic)
    }
}

/// Numbers topics in the order they were added. Not generic, so that importing modules do no type lookup for each message.
@usableFromInline
final class TopicIndex {
    private struct Entry {
        /// The range of the topic's bytes in `topics`.
        let start: Int32
        let end: Int32
        let hash: UInt64
    }

    private var entries: [Entry] = []
    private var topics: [UInt8] = []
    /// Open addressing: indices into `entries`, at the slot that the hash selects or the next free one; -1 if the slot is free.
    /// The number of slots is a power of two, at least twice the number of entries.
    private var slots: [Int32] = []
    /// Random, so that a hostile publisher cannot choose topics that collide.
    private let seed = UInt64.random(in: .min ... .max)

    @usableFromInline init() {}

    /// The number of a topic; nil for an unknown one.
    @usableFromInline
    func index(of topic: UnsafeRawBufferPointer) -> Int? {
        if slots.isEmpty { return nil }
        let hash = self.hash(topic)
        var slot = Int(truncatingIfNeeded: hash) & (slots.count - 1)
        while slots[slot] >= 0 {
            let index = Int(slots[slot])
            let entry = entries[index]
            if entry.hash == hash, isTopic(topic, entry) { return index }
            slot = (slot + 1) & (slots.count - 1)
        }
        return nil
    }

    private func isTopic(_ topic: UnsafeRawBufferPointer, _ entry: Entry) -> Bool {
        topics.withUnsafeBytes { topics in
            topic.isSame(as: UnsafeRawBufferPointer(rebasing: topics[Int(entry.start)..<Int(entry.end)]))
        }
    }

    /// Adds a topic, which must be new.
    @usableFromInline
    func add(_ topic: UnsafeRawBufferPointer) {
        let start = topics.count
        topics.append(contentsOf: topic)
        entries.append(Entry(start: Int32(start), end: Int32(topics.count), hash: hash(topic)))
        if 2 * entries.count > slots.count {
            slots = Array(repeating: -1, count: max(16, 2 * slots.count))
            for index in entries.indices { place(index) }
        } else {
            place(entries.count - 1)
        }
    }

    private func place(_ index: Int) {
        var slot = Int(truncatingIfNeeded: entries[index].hash) & (slots.count - 1)
        while slots[slot] >= 0 { slot = (slot + 1) & (slots.count - 1) }
        slots[slot] = Int32(index)
    }

    /// Hashes eight bytes at a time.
    private func hash(_ topic: UnsafeRawBufferPointer) -> UInt64 {
        var hash = seed ^ UInt64(truncatingIfNeeded: topic.count)
        var place = 0
        while place + 8 <= topic.count {
            hash = Self.mix(hash ^ topic.loadUnaligned(fromByteOffset: place, as: UInt64.self))
            place += 8
        }
        var rest: UInt64 = 0
        while place < topic.count {
            rest = rest << 8 | UInt64(topic[place])
            place += 1
        }
        return Self.mix(hash ^ rest)
    }

    private static func mix(_ value: UInt64) -> UInt64 {
        let product = value.multipliedFullWidth(by: 0xD6E8_FEB8_6659_FD93)
        return product.high ^ product.low
    }
}
