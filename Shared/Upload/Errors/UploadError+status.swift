extension UploadError {
    /// The error for an unsuccessful response.
    /// - Parameter detail: the server's explanation in a few words, besides the status.
    init(_ response: HTTPResponse, at location: String, detail: String? = nil) {
        let again: Retry = response.retryAfter.map { .after($0) } ?? .later
        let (code, advice, retry): (Code, String, Retry) =
            switch response.status {
            case 300..<400:
                (
                    .redirected,
                    "Redirects are not followed, since they could send secrets elsewhere: write the right place into "
                        + "upload-to or s3-endpoint.", .never
                )
            case 401, 403, 407:
                (
                    .notPermitted,
                    "Correct the credentials, or give them the right to write there. The upload will be retried.",
                    .never
                )
            case 404, 409, 410:
                (.notFound, "Make the place, or correct upload-to. The upload will be retried.", .never)
            case 405:
                (.refused, "Let the server accept PUT there (nginx: dav_methods PUT), or correct upload-to.", .never)
            case 408, 423, 425, 429:
                (.busy, "The upload will be retried.", again)
            case 413:
                (.tooLarge, "Let the server accept larger files (nginx: client_max_body_size).", .never)
            case 501, 505:
                (.refused, "The server does not know this request. Check that it is the right server.", .never)
            case 503:
                (.busy, "The upload will be retried.", again)
            case 507:
                (.full, "Free some space there. The upload will be retried.", again)
            case 500...:
                // nginx answers 500 if its disk is full.
                (
                    .receiverFailed, "Check the receiver's log and free space. The upload will be retried.",
                    again
                )
            default:
                (.refused, "Check upload-to and what the server expects; then request the upload again.", .never)
            }
        let said = "the receiver answered \(response.status)" + (detail.map { " (\($0))" } ?? "")
        self.init(code, at: location, said, advice: advice, retry: retry)
    }
}
