import Messages

/// Finds what belongs to a topic by its bytes, without making a text of them. As many topics as there are streams: the
/// order of their batches is not known.
///
/// A class, and so is its index: a table that is a value is copied by those who look something up in it.
public final class TopicTable<Value> {
    @usableFromInline let topics = TopicIndex()
    @usableFromInline var values: [Value] = []

    /// A table without topics.
    @inlinable public init() {}

    /// How many topics there are.
    @inlinable public var count: Int { values.count }

    /// What belongs to a topic; nil for an unknown one.
    @inlinable public func value(of topic: UnsafeRawBufferPointer) -> Value? {
        // Not `map`, which is generic code that runs for each message.
        guard let index = topics.index(of: topic) else { return nil }
        return values[index]
    }

    /// Adds a topic, which must be new.
    @inlinable public func add(_ topic: UnsafeRawBufferPointer, _ value: Value) {
        values.append(value)
        topics.add(topic)
    }
}

/// Numbers topics in the order in which they were added. Not generic, so that no importer looks up a type for each message.
@usableFromInline
final class TopicIndex {
    private struct Entry {
        /// Where its topic stands in `topics`.
        let start: Int32
        let end: Int32
        let hash: UInt64
    }

    private var entries: [Entry] = []
    /// The bytes of all topics.
    private var topics: [UInt8] = []
    /// Indices into `entries`, at the places that hashes name or behind them; -1 if there is none. A power of two of them,
    /// at least twice as many as there are entries.
    private var slots: [Int32] = []
    /// Random, so that a hostile publisher cannot choose topics that collide.
    private let seed = UInt64.random(in: .min ... .max)

    @usableFromInline init() {}

    /// Where a topic is; nil for an unknown one.
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

    /// Eight bytes at a time.
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
