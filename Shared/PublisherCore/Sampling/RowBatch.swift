package import Messages

/// Consecutive samples of one stream, ready to be published.
package struct RowBatch: Hashable, Sendable {
    /// The sequence number of the first sample.
    package let firstSequence: Int64
    /// The number of samples, at least 1.
    package let count: Int
    /// The rows one after the other, each the uptime in seconds and the values of the fields.
    package let rows: [Double]
    /// The values of each sample, in a stream of records; `rows` then has the uptimes alone.
    package let records: RecordValues?
    /// How late the batch was: nanoseconds from the time at which its last sample was due until it was taken.
    package let lateness: Int64

    package init(
        firstSequence: Int64, count: Int, rows: [Double], records: RecordValues? = nil, lateness: Int64 = 0
    ) {
        precondition(count > 0 && rows.count % count == 0, "a batch has whole rows")
        precondition(records.map { $0.count == count } ?? true, "a batch has whole records")
        self.firstSequence = firstSequence
        self.count = count
        self.rows = rows
        self.records = records
        self.lateness = lateness
    }

    /// The numbers in a row, the uptime included.
    package var columns: Int { rows.count / count }

    /// The same samples in batches of at most `limit`.
    func pieces(of limit: Int) -> [RowBatch] {
        stride(from: 0, to: count, by: limit).map { start in
            let end = min(start + limit, count)
            return RowBatch(
                firstSequence: firstSequence + Int64(start), count: end - start,
                rows: Array(rows[start * columns..<end * columns]),
                records: records.map { RecordValues($0[start..<end]) }, lateness: lateness)
        }
    }
}
