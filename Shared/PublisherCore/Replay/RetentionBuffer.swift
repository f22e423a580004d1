import DequeModule
import Messages
import SampleSources

/// Keeps the latest batches of all streams, so that a listener that missed some can ask for them again.
///
/// Bounded twice, by age and by bytes, over all streams together; the oldest batch goes first, whichever stream it is of.
/// A batch costs the memory of its rows plus `overhead`: by what is in it, and not by the room that an allocator gave it, so that
/// the same batches are kept everywhere. Pure: callers pass the time, in nanoseconds of a monotonic clock.
package struct RetentionBuffer {
    /// What a kept batch costs beside its rows, in bytes: its entries in two queues, each with room to grow, and the
    /// array's header. Also what a batch is taken to cost in an answer, beside its rows.
    package static let overhead = 256

    /// How old a batch may get, in nanoseconds.
    package let maximumAge: Int64
    /// How much memory all batches may take.
    package let maximumBytes: Int
    /// How much memory they take now.
    package private(set) var bytes = 0

    private struct Entry {
        let batch: RowBatch

        var bytes: Int {
            batch.rows.count * MemoryLayout<Double>.stride + (batch.records?.memory ?? 0) + overhead
        }
        var end: Int64 { batch.firstSequence + Int64(batch.count) }
    }

    private struct Stream {
        var entries = Deque<Entry>()
        var nextSequence: Int64 = 0
    }

    private var streams: [Stream] = []
    /// For each batch that is kept, oldest first, the stream that it is of, and since when it is kept.
    private var order = Deque<(position: Int, insertedAt: Int64)>()

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
    /// - Parameter position: the stream's place in the list of all streams.
    package mutating func insert(_ batch: RowBatch, of position: Int, at now: Int64) {
        while streams.count <= position { streams.append(Stream()) }
        precondition(
            batch.firstSequence >= streams[position].nextSequence, "batches come in the order of their sequence")
        let entry = Entry(batch: batch.trimmed)
        streams[position].entries.append(entry)
        streams[position].nextSequence = entry.end
        order.append((position, now))
        bytes += entry.bytes
        while bytes > maximumBytes { dropOldest() }
        expire(at: now)
    }

    /// Whether nothing of a stream is kept.
    func isEmpty(at position: Int) -> Bool { position >= streams.count || streams[position].entries.isEmpty }

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
        let entries = streams[position].entries
        let next = streams[position].nextSequence
        let (end, overflows) = from.addingReportingOverflow(Int64(max(0, count)))
        var slices: [ReplayAnswer.Slice] = []
        var expected: Int64?
        var budget = maximumBytes
        for index in Self.firstIndex(in: entries, endingAfter: from)..<entries.count {
            let entry = entries[index]
            let first = max(from, entry.batch.firstSequence)
            let last = min(overflows ? .max : end, entry.end)
            guard first < last, expected == nil || first == expected else { break }
            let firstRow = Int(first - entry.batch.firstSequence)
            let affordable = entry.batch.rows(from: firstRow, in: budget - Self.overhead)
            let taken = min(Int(last - first), slices.isEmpty ? max(1, affordable) : affordable)
            guard taken > 0 else { break }
            let columns = entry.batch.columns
            slices.append(
                ReplayAnswer.Slice(
                    firstSequence: first, count: taken,
                    rows: entry.batch.rows[firstRow * columns..<(firstRow + taken) * columns],
                    records: entry.batch.records?[firstRow..<firstRow + taken]))
            budget -= Self.overhead + entry.batch.byteCount(of: firstRow..<firstRow + taken)
            guard taken == Int(last - first) else { break }
            expected = last
        }
        return ReplayAnswer(
            from: slices.first?.firstSequence ?? from, count: slices.reduce(0) { $0 + $1.count },
            first: entries.first?.batch.firstSequence ?? next, last: next - 1, slices: slices)
    }

    private mutating func dropOldest() {
        guard let oldest = order.popFirst(), let entry = streams[oldest.position].entries.popFirst() else { return }
        bytes -= entry.bytes
    }

    /// The first entry that ends after `sequence`, by bisection.
    private static func firstIndex(in entries: Deque<Entry>, endingAfter sequence: Int64) -> Int {
        var range = 0..<entries.count
        while !range.isEmpty {
            let middle = range.lowerBound + range.count / 2
            if entries[middle].end > sequence {
                range = range.lowerBound..<middle
            } else {
                range = middle + 1..<range.upperBound
            }
        }
        return range.lowerBound
    }
}

extension RowBatch {
    /// What some of the rows take in an answer.
    fileprivate func byteCount(of rows: Range<Int>) -> Int {
        rows.count * columns * MemoryLayout<Double>.stride + (records?.byteCount(of: rows) ?? 0)
    }

    /// How many rows, from one on, so many bytes have room for.
    fileprivate func rows(from first: Int, in bytes: Int) -> Int {
        guard records != nil else { return bytes / byteCount(of: 0..<1) }
        var end = first
        while end < count, byteCount(of: first..<end + 1) <= bytes { end += 1 }
        return end - first
    }
}
