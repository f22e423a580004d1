import Encryption

/// The bytes of one file of an archive, from its beginning.
///
/// Confined to one thread.
protocol ByteSource: AnyObject {
    var count: Int { get }
    /// Whether all bytes were read.
    var isAtEnd: Bool { get }
    /// The error to throw if a second reading gives different bytes.
    var changed: ArchiveError { get }

    /// Fills the buffer, up to the end of the bytes.
    /// - Returns: the number of bytes read.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws(ArchiveError) -> Int

    /// Moves to the beginning.
    func rewind() throws(ArchiveError)
}
