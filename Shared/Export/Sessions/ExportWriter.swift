package import Files

/// Writes a session in one format: its streams one after the other, then what belongs to all of them.
package protocol ExportWriter: RowSink {
    /// The name of the file that says how the export came about.
    var provenanceName: String { get }

    /// The files that have a stream's samples, for the provenance.
    func files(of stream: ExportedStream) -> [String]

    mutating func begin(_ stream: ExportedStream) throws(RecordingError)

    /// Writes what has been appended, if it is much. Called now and then, so that the memory is bounded.
    mutating func writeIfFull() throws(RecordingError)

    mutating func end(_ stream: ExportedStream, _ walk: StreamWalk) throws(RecordingError)

    /// Writes what belongs to the whole session.
    mutating func finish() throws(RecordingError)
}
