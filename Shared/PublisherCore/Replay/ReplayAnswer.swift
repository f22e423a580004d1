package import Messages

/// The requested samples that a `RetentionBuffer` has: one range without holes, in batches.
package struct ReplayAnswer: Hashable, Sendable {
    /// A batch, or the requested part of one.
    package struct Slice: Hashable, Sendable {
        /// The sequence number of the first sample.
        package let firstSequence: Int64
        /// The number of samples, at least 1.
        package let count: Int
        /// The rows one after the other, each the uptime and the values of the fields.
        package let rows: ArraySlice<Double>
        /// The values, in a stream of records; `rows` then has the uptimes alone.
        package var records: RecordValues.Rows?
    }

    /// The first sample of the answer; the requested one if the answer is empty.
    package let from: Int64
    /// The number of samples in the answer.
    package let count: Int
    /// The oldest sample that is kept of this stream.
    package let first: Int64
    /// The newest sample that is kept of this stream; `first` − 1 if none is.
    package let last: Int64
    package let slices: [Slice]

    /// The memory they take, by the accounting of `RetentionBuffer`.
    var bytes: Int {
        slices.reduce(0) { sum, slice in
            sum + RetentionBuffer.overhead + slice.rows.count * MemoryLayout<Double>.stride
                + (slice.records?.byteCount ?? 0)
        }
    }
}
