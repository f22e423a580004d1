extension UploadError {
    /// The error for an unsuccessful S3 response. S3's error codes are more specific than the status (AWS, "List of error
    /// codes").
    init(s3 response: HTTPResponse, at location: String) {
        let error = XMLText(response.text).all("Error").first
        let word = error?.first("Code")
        let region = error?.first("Region") ?? response.headers["x-amz-bucket-region"]
        let general = UploadError(response, at: location, detail: word)
        let again: Retry = response.retryAfter.map { .after($0) } ?? .later
        let (code, advice, retry): (Code, String, Retry) =
            switch word {
            case "SlowDown", "ServiceUnavailable", "RequestTimeout", "OperationAborted", "ConditionalRequestConflict",
                "Throttling", "RequestLimitExceeded", "NoSuchUpload":
                (.busy, "The upload will be retried.", again)
            case "InternalError":
                (.receiverFailed, "Check the receiver's log. The upload will be retried.", again)
            case "BadDigest", "XAmzContentSHA256Mismatch", "XAmzContentChecksumMismatch", "InvalidDigest",
                "IncompleteBody", "InvalidPart":
                (.corrupted, "Bytes changed in transit and were discarded. They will be sent again.", .later)
            case "RequestTimeTooSkewed", "RequestExpired":
                (.notPermitted, "Set this machine's clock. The upload will be retried.", .later)
            case "ExpiredToken", "TokenRefreshRequired", "InvalidToken":
                (.notPermitted, "Renew the key. The upload will be retried.", .later)
            case "NoSuchBucket":
                (.notFound, "Make the bucket, or correct upload-to. The upload will be retried.", .never)
            case "EntityTooLarge":
                (.tooLarge, "Choose a receiver that takes files of this size.", .never)
            case "QuotaExceeded", "XMinioStorageFull", "InsufficientCapacity", "InsufficientStorage":
                (.full, "Free some space there. The upload will be retried.", again)
            case "NotImplemented":
                (
                    .refused, "The receiver lacks a part of S3 that is needed here (checksums, conditional writes).",
                    .never
                )
            case "AuthorizationHeaderMalformed", "PermanentRedirect", "TemporaryRedirect",
                "IllegalLocationConstraintException":
                (
                    .redirected,
                    region.map { "Set s3-region to \($0), or s3-endpoint to the bucket's." }
                        ?? "Set s3-region and s3-endpoint to the bucket's.", .never
                )
            default: (general.code, general.advice, general.retry)
            }
        // A success status whose body contains an error.
        let reason = response.isSuccess ? "the receiver failed (\(word ?? "no reason given"))" : general.reason
        self.init(
            code, at: location, reason, advice: advice, retry: response.isSuccess && retry == .never ? .later : retry)
    }
}
