/// A complete and durable archive on disk.
package struct MadeArchive: Hashable, Sendable {
    /// The name of the file: `<session>.zip` or `<session>~<section>.zip`, followed by `.p7m` if it is encrypted.
    package let name: String
    /// The archive's section; `nil` for the task's archive.
    package let section: String?
    package let bytes: Int
    /// The SHA-256 of the file, in lower-case hexadecimal digits.
    package let sha256: String
    /// Whether opening it requires the private key of a recipient.
    package let isEncrypted: Bool
    /// The highest number of an annotation in it; 0 if there is none.
    package let lastAnnotation: Int
    package let metadata: ArchiveMetadata
}
