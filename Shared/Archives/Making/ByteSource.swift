import Encryption

/// The bytes of one file of an archive, from its beginning.
///
/// Confined to one thread.
protocol ByteSource: AnyObject {
    /// How many bytes there are.
    var count: Int { get }
    /// Whether all of them were read.
    var isAtEnd: Bool { get }
    /// What is to be thrown where the bytes were other ones the second time.
    var changed: ArchiveError { get }

    /// Fills the buffer, up to the end of the bytes.
    /// - Returns: how many there were.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws(ArchiveError) -> Int

    /// Goes back to the beginning.
    func rewind() throws(ArchiveError)
}
