/// An archive that is on disk, whole and durable.
package struct MadeArchive: Hashable, Sendable {
    /// The name of its file: `<session>.zip`, `<session>~<section>.zip`, with `.p7m` behind it where it is encrypted.
    package let name: String
    /// The section of which it is; `nil` for the task's own.
    package let section: String?
    package let bytes: Int
    /// SHA-256 of the file, in lower-case hexadecimal digits.
    package let sha256: String
    /// Whether only the owners of certificates can open it.
    package let isEncrypted: Bool
    /// Its manifest.
    package let metadata: ArchiveMetadata
}
