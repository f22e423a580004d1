extension UploadError {
    /// Why a web server did not do what it was asked.
    /// - Parameter detail: what it said beside its status, in a few words.
    init(_ response: HTTPResponse, at location: String, detail: String? = nil) {
        let again: Retry = response.retryAfter.map { .after($0) } ?? .later
        let (code, advice, retry): (Code, String, Retry) =
            switch response.status {
            case 300..<400:
                (
                    .redirected,
                    "Redirects are not followed, since they could lead secrets elsewhere: write the right place into "
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
                (.refused, "Let the server take PUT there (nginx: dav_methods PUT), or correct upload-to.", .never)
            case 408, 423, 425, 429:
                (.busy, "The upload is tried again.", again)
            case 413:
                (.tooLarge, "Let the server take larger files (nginx: client_max_body_size).", .never)
            case 501, 505:
                (.refused, "The server does not know this request. Check that it is the right server.", .never)
            case 503:
                (.busy, "The upload is tried again.", again)
            case 507:
                (.full, "Free some space there. The upload will be retried.", again)
            case 500...:
                // nginx answers 500 where its disk is full.
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
