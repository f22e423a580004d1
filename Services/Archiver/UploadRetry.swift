/// An upload failed, and is tried again by itself.
struct UploadRetry: Sendable {
    /// How many tries have failed.
    let attempt: Int
    /// Why the last one did.
    let error: UploadError
    /// How long until the next one.
    let delay: Duration
}
