package import Messages

/// Rows read from a source, with their times, and whether there are more.
///
/// Allocated once and refilled, so that only the values need new memory: they leave with their batch.
package struct SourceRows {
    package enum End: Hashable, Sendable {
        case more
        /// There is no further sample.
        case last
        /// There are no further samples, because the source failed.
        case failed(PublisherError)
    }

    /// The rows one after the other, each a zero for the uptime and the values of the fields.
    package var values: [Double] = []
    /// The values of each row, in a source of records; a row of `values` then has the uptime alone.
    package var records = RecordValues()
    /// The time of each row in nanoseconds since the stream's start.
    package var times: [Int64] = []
    package var end = End.more

    package init() {}

    /// Removes the rows, and reserves room for others.
    mutating func reset(_ valueCount: Int) {
        values.removeAll()
        values.reserveCapacity(valueCount)
        records.removeAll()
        times.removeAll(keepingCapacity: true)
        end = .more
    }
}
