import DequeModule
import Messages
import SampleSources

/// Keeps the latest batches of all streams, so that a subscriber can request a replay of those it missed.
///
/// The buffer is bounded by age and by bytes, over all streams together. The oldest batch is dropped first, whichever stream it
/// is of. Consecutive small batches of a stream share memory: one with memory of its own costs up to nine times its contents. A
/// batch costs the memory of its rows plus `entry` or `overhead`. The cost counts the contents, not the room that an allocator
/// gave, so that the same batches are kept everywhere. Pure: callers pass the time, in nanoseconds of a monotonic clock.
package struct RetentionBuffer {
    /// The cost of a batch besides its rows, in bytes, if it shares memory: its entry in a queue that has room to grow.
    package static let entry = 32
    /// The cost of a batch with memory of its own, or of the first of those that share some: another entry, and array headers.
    /// Also the assumed cost of a batch in an answer, besides its rows.
    package static let overhead = 256
    /// How many numbers small batches fill together before a new chunk is begun: 2 KiB. Dropped batches still take up to this
    /// much for each stream, which is not counted.
    private static let chunkLength = 256

    /// The maximum age of a batch, in nanoseconds.
    package let maximumAge: Int64
    /// The maximum memory of all batches, in bytes.
    package let maximumBytes: Int
    /// The memory of all batches, in bytes.
    package private(set) var bytes = 0

    /// Consecutive samples of one stream: one large batch, or several small ones.
    private struct Chunk {
        /// The sequence number of the first sample, dropped or not.
        let firstSequence: Int64
        /// The numbers in a row, the uptime included.
        let columns: Int
        /// How far the clocks were apart at these samples, in nanoseconds: an answer has one clock reading for all of them.
        let clockDifference: Int64
        var rows: [Double]
        let records: RecordValues?
        /// The number of samples that were dropped.
        var dropped = 0

        init(_ batch: RowBatch, clockDifference: Int64) {
            (firstSequence, columns, records) = (batch.firstSequence, batch.columns, batch.records?.trimmed)
            self.clockDifference = clockDifference
            if batch.records == nil, batch.rows.count <= chunkLength / 2 {
                rows = []
                rows.reserveCapacity(chunkLength)
                rows += batch.rows
            } else {
                rows = batch.rows.trimmed
            }
        }

        /// The samples that are kept.
        var sequences: Range<Int64> {
            firstSequence + Int64(dropped)..<firstSequence + Int64(rows.count / columns)
        }

        /// Appends another batch and returns true, or returns false if it must have another chunk.
        mutating func take(_ batch: RowBatch, clockDifference: Int64) -> Bool {
            guard records == nil, batch.records == nil, columns == batch.columns,
                clockDifference == self.clockDifference,
                batch.firstSequence == sequences.upperBound, rows.count + batch.rows.count <= chunkLength
            else { return false }
            rows += batch.rows
            return true
        }

        /// The bytes of some of the rows in an answer.
        func byteCount(of rows: Range<Int>) -> Int {
            rows.count * columns * MemoryLayout<Double>.stride + (records?.byteCount(of: rows) ?? 0)
        }

        /// How many of these rows, from the first on, fit into `bytes`.
        func rows(of rows: Range<Int>, in bytes: Int) -> Int {
            guard records != nil else { return max(0, bytes) / byteCount(of: 0..<1) }
            return rows.prefix { byteCount(of: rows.lowerBound..<$0 + 1) <= bytes }.count
        }
    }

    private struct Stream {
        var chunks = Deque<Chunk>()
        var nextSequence: Int64 = 0
    }

    private var streams: [Stream] = []
    /// For each kept batch, oldest first: its stream, its number of samples, and when it was inserted.
    private var order = Deque<(position: Int32, count: Int32, insertedAt: Int64)>()

    /// - Parameters:
    ///   - maximumAge: in nanoseconds; 10 minutes by default.
    ///   - maximumBytes: 256 MB by default.
    package init(maximumAge: Int64 = 600 * Nanoseconds.perSecond, maximumBytes: Int = 256_000_000) {
        self.maximumAge = maximumAge
        self.maximumBytes = maximumBytes
    }

    /// The number of batches that are kept.
    package var batchCount: Int { order.count }

    /// Keeps a batch, and drops batches beyond the limits. A batch that exceeds the limit by itself is not kept.
    ///
    /// The batches of a stream must come in the order of their sequence.
    /// - Parameters:
    ///   - position: the stream's place in this buffer.
    ///   - clockDifference: how far the clock that continues while the machine sleeps was ahead, in nanoseconds.
    package mutating func insert(
        _ batch: RowBatch, of position: Int, at now: Int64, clockDifference: Int64 = 0
    ) {
        while streams.count <= position { streams.append(Stream()) }
        precondition(
            batch.firstSequence >= streams[position].nextSequence, "batches come in the order of their sequence")
        let last = streams[position].chunks.endIndex - 1
        if last < 0 || !streams[position].chunks[last].take(batch, clockDifference: clockDifference) {
            if last >= 0 { streams[position].chunks[last].rows = streams[position].chunks[last].rows.trimmed }
            streams[position].chunks.append(Chunk(batch, clockDifference: clockDifference))
            bytes += Self.overhead - Self.entry
        }
        streams[position].nextSequence = batch.firstSequence + Int64(batch.count)
        order.append((Int32(position), Int32(batch.count), now))
        bytes += Self.cost(of: batch.count, columns: batch.columns, records: batch.records)
        while bytes > maximumBytes { dropOldest() }
        expire(at: now)
    }

    /// Whether no batch of a stream is kept.
    func isEmpty(at position: Int) -> Bool { position >= streams.count || streams[position].chunks.isEmpty }

    /// Prepares an empty position for another stream.
    mutating func begin(at position: Int) {
        if position < streams.count { streams[position].nextSequence = 0 }
    }

    /// Drops batches older than `maximumAge`. Call it now and then while no batches come in.
    package mutating func expire(at now: Int64) {
        while let oldest = order.first, now - oldest.insertedAt > maximumAge { dropOldest() }
    }

    /// For how many seconds a batch is kept, judged by the rate of batches so far; nil before there is a second of them.
    ///
    /// Whole seconds, rounded down, so that descriptions change rarely.
    package func span(at now: Int64) -> Double? {
        guard let oldest = order.first, now - oldest.insertedAt >= Nanoseconds.perSecond else { return nil }
        let untilFull = Nanoseconds.seconds(now - oldest.insertedAt) * Double(maximumBytes) / Double(bytes)
        return min(Nanoseconds.seconds(maximumAge), untilFull).rounded(.down)
    }

    /// The kept samples of `from` ..< `from` + `count` of a stream.
    ///
    /// The answer is one range without holes. It begins at `from`, or later if the first ones are no longer kept. It ends early
    /// at a hole or when `maximumBytes` are reached, and has at least one sample if any requested one is kept. A client that gets
    /// fewer samples than it requested sends another request for the rest.
    package func batches(of position: Int, from: Int64, count: Int, maximumBytes: Int) -> ReplayAnswer {
        guard position < streams.count else {
            return ReplayAnswer(from: from, count: 0, first: 0, last: -1, slices: [])
        }
        let chunks = streams[position].chunks
        let next = streams[position].nextSequence
        let (end, overflows) = from.addingReportingOverflow(Int64(max(0, count)))
        var slices: [ReplayAnswer.Slice] = []
        var expected: Int64?
        var budget = maximumBytes
        for index in Self.firstIndex(in: chunks, endingAfter: from)..<chunks.count {
            let chunk = chunks[index]
            let first = max(from, chunk.sequences.lowerBound)
            let last = min(overflows ? .max : end, chunk.sequences.upperBound)
            guard first < last, expected == nil || first == expected else { break }
            let wanted = Int(first - chunk.firstSequence)..<Int(last - chunk.firstSequence)
            let affordable = chunk.rows(of: wanted, in: budget - Self.overhead)
            let taken = wanted.prefix(slices.isEmpty ? max(1, affordable) : affordable)
            guard !taken.isEmpty else { break }
            slices.append(
                ReplayAnswer.Slice(
                    firstSequence: first, count: taken.count,
                    rows: chunk.rows[taken.lowerBound * chunk.columns..<taken.upperBound * chunk.columns],
                    records: chunk.records?[taken]))
            budget -= Self.overhead + chunk.byteCount(of: taken)
            guard taken.count == wanted.count else { break }
            expected = last
        }
        return ReplayAnswer(
            from: slices.first?.firstSequence ?? from, count: slices.reduce(0) { $0 + $1.count },
            first: chunks.first?.sequences.lowerBound ?? next, last: next - 1, slices: slices)
    }

    private mutating func dropOldest() {
        guard let oldest = order.popFirst() else { return }
        let (position, count) = (Int(oldest.position), Int(oldest.count))
        let chunk = streams[position].chunks[0]
        bytes -= Self.cost(of: count, columns: chunk.columns, records: chunk.records)
        streams[position].chunks[0].dropped += count
        guard streams[position].chunks[0].sequences.isEmpty else { return }
        streams[position].chunks.removeFirst()
        bytes -= Self.overhead - Self.entry
    }

    /// The cost of a batch in an existing chunk. A batch of records has a chunk of its own.
    private static func cost(of count: Int, columns: Int, records: RecordValues?) -> Int {
        count * columns * MemoryLayout<Double>.stride + (records?.memory ?? 0) + entry
    }

    /// The first chunk that ends after `sequence`, by bisection.
    private static func firstIndex(in chunks: Deque<Chunk>, endingAfter sequence: Int64) -> Int {
        var range = 0..<chunks.count
        while !range.isEmpty {
            let middle = range.lowerBound + range.count / 2
            if chunks[middle].sequences.upperBound > sequence {
                range = range.lowerBound..<middle
            } else {
                range = middle + 1..<range.upperBound
            }
        }
        return range.lowerBound
    }
}
