/// The bytes of an archive in the order in which they are in the zip: those of a file, or what is decrypted of one.
///
/// Confined to one thread.
package protocol ArchiveBytes: AnyObject {
    /// The next bytes, which are there until the next call; none at the end.
    ///
    /// - Throws: what is known by then: `wrongKey` at the end of an encrypted archive.
    func next() throws(ArchiveError) -> UnsafeRawBufferPointer
}
