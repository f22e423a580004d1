/// Receives the samples of a stream in order, and the places where samples are absent.
package protocol RowSink {
    /// Appends a sample. The row is valid only during the call.
    mutating func append(_ row: SampleRow)

    /// Appends a place where samples are absent; called between the samples before and after it.
    mutating func append(_ absence: StreamBreak)
}
