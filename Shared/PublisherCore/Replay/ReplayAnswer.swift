package import Messages

/// What a `RetentionBuffer` has of the samples that were asked for: one range without holes, in batches.
package struct ReplayAnswer: Hashable, Sendable {
    /// A batch, or the part of one that was asked for.
    package struct Slice: Hashable, Sendable {
        /// The sequence number of the first sample.
        package let firstSequence: Int64
        /// The number of samples, at least 1.
        package let count: Int
        /// The rows one after the other, each the uptime and the values of the fields.
        package let rows: ArraySlice<Double>
        /// In a stream of records their values; a row has the uptime alone then.
        package var records: RecordValues.Rows?
    }

    /// The first sample of the answer; the one that was asked for if there is none.
    package let from: Int64
    /// The number of samples in the answer.
    package let count: Int
    /// The oldest sample that is kept of this stream.
    package let first: Int64
    /// The newest sample that is kept of this stream; `first` − 1 if none is.
    package let last: Int64
    /// The samples.
    package let slices: [Slice]

    /// What they take in memory, as `RetentionBuffer` counts.
    var bytes: Int {
        slices.reduce(0) { sum, slice in
            sum + RetentionBuffer.overhead + slice.rows.count * MemoryLayout<Double>.stride
                + (slice.records?.byteCount ?? 0)
        }
    }
}
