/// Takes the samples of a stream in order, and the places where some are absent.
package protocol RowSink {
    /// Takes a sample. The row is valid during the call only.
    mutating func append(_ row: SampleRow)

    /// Takes a place where samples are absent: after the samples before it, and before the one behind it.
    mutating func append(_ absence: StreamBreak)
}
