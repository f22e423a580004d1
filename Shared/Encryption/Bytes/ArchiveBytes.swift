/// The bytes of a zip in order: those of a plain file, or the decrypted ones of an encrypted file.
///
/// Confined to one thread.
package protocol ArchiveBytes: AnyObject {
    /// The next bytes, valid until the next call; none at the end.
    ///
    /// - Throws: errors found so far, such as `wrongKey` at the end of an encrypted archive.
    func next() throws(ArchiveError) -> UnsafeRawBufferPointer
}
