/// Why a request had no response: libcurl's code and message.
struct HTTPFailure: Error, Hashable, Sendable {
    /// `CURLcode`, see libcurl-errors(3).
    let code: UInt32
    let message: String
    /// The cause, if a file could not be read during the transfer.
    var cause: UploadError?
}
