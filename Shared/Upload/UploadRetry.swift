/// An upload failed, and is tried again by itself.
package struct UploadRetry: Sendable {
    /// How many tries have failed.
    package let attempt: Int
    /// Why the last one did.
    package let error: UploadError
    /// How long until the next one.
    package let delay: Duration
}
