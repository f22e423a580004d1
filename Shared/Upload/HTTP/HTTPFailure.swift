/// Why there was no answer: libcurl's code, and its sentence.
struct HTTPFailure: Error, Hashable, Sendable {
    /// `CURLcode`, see libcurl-errors(3).
    let code: UInt32
    let message: String
    /// Why a file could not be read meanwhile.
    var cause: UploadError?
}
