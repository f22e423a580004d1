import Messages

/// Finds what belongs to a topic by its bytes, without making a text of them. As many topics as there are streams: the
/// order of their batches is not known.
package struct TopicTable<Value> {
    private struct Entry {
        /// Where its topic stands in `topics`.
        let start: Int32
        let end: Int32
        let hash: UInt64
    }

    private var entries: [Entry] = []
    private var values: [Value] = []
    /// The bytes of all topics.
    private var topics: [UInt8] = []
    /// Indices into `entries`, at the places that hashes name or behind them; -1 where there is none. A power of two of them,
    /// at least twice as many as there are entries.
    private var slots: [Int32] = []
    /// Random, so that a hostile publisher cannot choose topics that collide.
    private let seed = UInt64.random(in: .min ... .max)

    package init() {}

    /// How many topics there are.
    package var count: Int { entries.count }

    /// What belongs to a topic; nil for an unknown one.
    package func value(of topic: UnsafeRawBufferPointer) -> Value? { index(of: topic).map { values[$0] } }

    /// What belongs to a topic that was found before.
    package subscript(index: Int) -> Value {
        _read { yield values[index] }
        _modify { yield &values[index] }
    }

    /// Where a topic is; nil for an unknown one.
    package func index(of topic: UnsafeRawBufferPointer) -> Int? {
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
    /// - Returns: where it is.
    @discardableResult
    package mutating func add(_ topic: UnsafeRawBufferPointer, _ value: Value) -> Int {
        let start = topics.count
        topics.append(contentsOf: topic)
        entries.append(Entry(start: Int32(start), end: Int32(topics.count), hash: hash(topic)))
        values.append(value)
        if 2 * entries.count > slots.count {
            slots = Array(repeating: -1, count: max(16, 2 * slots.count))
            for index in entries.indices { place(index) }
        } else {
            place(entries.count - 1)
        }
        return entries.count - 1
    }

    private mutating func place(_ index: Int) {
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
