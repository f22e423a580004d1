/// A destination for the bytes of an archive: a file, or an encryption in front of one.
///
/// Confined to one thread.
package protocol ByteSink: AnyObject {
    /// Writes the next bytes. Must not keep the buffer.
    func write(_ bytes: UnsafeRawBufferPointer) throws(ArchiveError)

    /// Ends the output.
    func finish() throws(ArchiveError)
}

extension ByteSink {
    package func write(_ bytes: [UInt8]) throws(ArchiveError) {
        try bytes.withUnsafeBufferPointer { bytes throws(ArchiveError) in try write(UnsafeRawBufferPointer(bytes)) }
    }
}
