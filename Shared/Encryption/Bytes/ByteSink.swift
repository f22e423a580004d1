/// Where the bytes of an archive go, piece by piece: a file, or an encryption in front of one.
///
/// Confined to one thread.
package protocol ByteSink: AnyObject {
    /// Takes the next bytes, and keeps none of the buffer.
    func write(_ bytes: UnsafeRawBufferPointer) throws(ArchiveError)

    /// Takes notice that nothing more comes.
    func finish() throws(ArchiveError)
}

extension ByteSink {
    /// Takes the next bytes.
    package func write(_ bytes: [UInt8]) throws(ArchiveError) {
        try bytes.withUnsafeBufferPointer { bytes throws(ArchiveError) in try write(UnsafeRawBufferPointer(bytes)) }
    }
}
