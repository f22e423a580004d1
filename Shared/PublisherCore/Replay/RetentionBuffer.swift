import DequeModule
import Messages
import SampleSources

/// Keeps the latest batches of all streams, so that a listener that missed some can ask for them again.
///
/// Bounded twice, by age and by bytes, over all streams together; the oldest batch goes first, whichever stream it is of.
/// Small batches of a stream that follow each other share memory: one of their own costs up to nine times what is in them.
/// A batch costs the memory of its rows plus `entry` or `overhead`: by what is in it, and not by the room that an allocator gave
/// it, so that the same batches are kept everywhere. Pure: callers pass the time, in nanoseconds of a monotonic clock.
package struct RetentionBuffer {
    /// What a batch costs beside its rows, in bytes, if it shares memory with others: its entry in a queue that has room to grow.
    package static let entry = 32
    /// What one costs that has memory of its own, or the first of those that share some: another entry, and headers of arrays. Also
    /// what a batch is taken to cost in an answer, beside its rows.
    package static let overhead = 256
    /// How many numbers small batches fill together before others go elsewhere: 2 KiB. What dropped batches still take is at most
    /// this for each stream, and is not counted.
    private static let chunkLength = 256

    /// How old a batch may get, in nanoseconds.
    package let maximumAge: Int64
    /// How much memory all batches may take.
    package let maximumBytes: Int
    /// How much memory they take now.
    package private(set) var bytes = 0

    /// Samples of one stream that follow each other: one large batch, or several small ones.
    private struct Chunk {
        /// The sequence number of the first sample, also of one that was dropped.
        let firstSequence: Int64
        /// The numbers in a row, the uptime included.
        let columns: Int
        /// How far the clocks were apart at these samples: an answer has one reading of the clocks for all of them.
        let clockDifference: Int64
        var rows: [Double]
        let records: RecordValues?
        /// How many of the samples were dropped.
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

        /// Takes another batch, unless it does not belong here.
        mutating func take(_ batch: RowBatch, clockDifference: Int64) -> Bool {
            guard records == nil, batch.records == nil, columns == batch.columns,
                clockDifference == self.clockDifference,
                batch.firstSequence == sequences.upperBound, rows.count + batch.rows.count <= chunkLength
            else { return false }
            rows += batch.rows
            return true
        }

        /// What some of the rows take in an answer.
        func byteCount(of rows: Range<Int>) -> Int {
            rows.count * columns * MemoryLayout<Double>.stride + (records?.byteCount(of: rows) ?? 0)
        }

        /// How many of some rows, from the first on, so many bytes have room for.
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
    /// For each batch that is kept, oldest first, the stream that it is of, its samples, and since when it is kept.
    private var order = Deque<(position: Int32, count: Int32, insertedAt: Int64)>()

    /// - Parameters:
    ///   - maximumAge: Nanoseconds; 10 minutes unless said otherwise.
    ///   - maximumBytes: 256 MB unless said otherwise.
    package init(maximumAge: Int64 = 600 * Nanoseconds.perSecond, maximumBytes: Int = 256_000_000) {
        self.maximumAge = maximumAge
        self.maximumBytes = maximumBytes
    }

    /// The number of batches that are kept.
    package var batchCount: Int { order.count }

    /// Keeps a batch, and drops what is too old or too much. One that alone is too large is not kept.
    ///
    /// The batches of a stream must come in the order of their sequence.
    /// - Parameters:
    ///   - position: the stream's place in the list of all streams.
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

    /// Whether nothing of a stream is kept.
    func isEmpty(at position: Int) -> Bool { position >= streams.count || streams[position].chunks.isEmpty }

    /// Has a position of which nothing is kept begin with another stream.
    mutating func begin(at position: Int) {
        if position < streams.count { streams[position].nextSequence = 0 }
    }

    /// Drops what is older than `maximumAge`: also to be called now and then while nothing comes in.
    package mutating func expire(at now: Int64) {
        while let oldest = order.first, now - oldest.insertedAt > maximumAge { dropOldest() }
    }

    /// For how many seconds a batch is kept, judged by how fast batches came so far; nil before there is a second of them.
    ///
    /// Whole seconds, rounded down, so that descriptions change rarely.
    package func span(at now: Int64) -> Double? {
        guard let oldest = order.first, now - oldest.insertedAt >= Nanoseconds.perSecond else { return nil }
        let untilFull = Nanoseconds.seconds(now - oldest.insertedAt) * Double(maximumBytes) / Double(bytes)
        return min(Nanoseconds.seconds(maximumAge), untilFull).rounded(.down)
    }

    /// What there is of samples `from` ..< `from` + `count` of a stream.
    ///
    /// The answer is one range without holes. It begins at `from`, or later if the first ones are no longer kept, and ends
    /// early at a hole or when `maximumBytes` are reached; it has at least one sample if any of those asked for is kept.
    /// A client that gets less than it asked for asks again for the rest.
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

    /// What a batch costs in a chunk that there is. Records have one of their own.
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
