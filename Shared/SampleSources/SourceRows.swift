package import Messages

/// Rows that a source gave, and whether there are more: what is sampled next, and when.
///
/// Made once and filled again and again, so that only the values need new memory: they go out with their batch.
package struct SourceRows {
    /// What comes after the rows.
    package enum End: Hashable, Sendable {
        case more
        /// There is no further sample.
        case last
        /// There are no further samples, because the source failed.
        case failed(PublisherError)
    }

    /// The rows one after the other, each a zero for the uptime and the values of the fields.
    package var values: [Double] = []
    /// In a source of records the values of each row; a row of `values` has the uptime alone then.
    package var records = RecordValues()
    /// The time of each row in nanoseconds since the stream's start.
    package var times: [Int64] = []
    package var end = End.more

    package init() {}

    /// Forgets the rows, and makes room for others.
    mutating func reset(_ valueCount: Int) {
        values.removeAll()
        values.reserveCapacity(valueCount)
        records.removeAll()
        times.removeAll(keepingCapacity: true)
        end = .more
    }
}
