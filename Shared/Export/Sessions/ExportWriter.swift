package import Files

/// Writes a session in one format: its streams one after the other, then what they share.
package protocol ExportWriter: RowSink {
    /// The name of the provenance file.
    var provenanceName: String { get }

    /// The files with a stream's samples, for the provenance.
    func files(of stream: ExportedStream) -> [String]

    mutating func begin(_ stream: ExportedStream) throws(RecordingError)

    /// Writes full buffers. Called regularly, so that memory use is bounded.
    mutating func writeIfFull() throws(RecordingError)

    mutating func end(_ stream: ExportedStream, _ walk: StreamWalk) throws(RecordingError)

    /// Writes what belongs to the whole session, after its streams.
    mutating func finish() throws(RecordingError)
}
