import SystemPackage

extension UploadError {
    /// The error for a failure to bring a file into a directory.
    init(_ errno: Errno, at location: String) {
        let (code, advice, retry): (Code, String, Retry) =
            switch errno {
            case .noSpace, .diskQuotaExceeded:
                (.full, "Free some space there. The upload will be retried.", .later)
            case .permissionDenied, .notPermitted, .readOnlyFileSystem:
                (.notPermitted, "Make the directory writable for this user. The upload will be retried.", .never)
            case .noSuchFileOrDirectory, .notDirectory:
                (.notFound, "Mount the share and make the directory. The upload will be retried.", .later)
            case .fileExists:
                (.different, "Check what has this name there, and move it out of the way.", .never)
            case .fileTooLarge:
                (.tooLarge, "Choose a place that takes files of this size.", .never)
            default:
                (.unreachable, "Check the share and this machine's log. The upload will be retried.", .later)
            }
        self.init(code, at: location, "\(errno)", advice: advice, retry: retry)
    }

    /// The error for a request without a response.
    init(_ failure: HTTPFailure, at location: String) {
        if let cause = failure.cause {
            self = cause
            return
        }
        let again = "The upload will be retried."
        let (code, advice, retry): (Code, String, Retry) =
            switch failure.code {
            case 42: (.cancelled, "The next try resumes or starts over.", .later)
            case 28: (.timedOut, "Check whether the receiver and the network work. \(again)", .later)
            case 5: (.unreachable, "Check the proxy in https_proxy and this machine's network. \(again)", .later)
            case 6: (.unreachable, "Check the receiver's name and this machine's network. \(again)", .later)
            case 60, 83, 90, 91:
                (
                    .untrusted,
                    "Nothing was sent. If the receiver's certificate is from a private authority, name that with "
                        + "ca-certificate; also check this machine's clock. \(again)", .later
                )
            case 77:
                (.badConfiguration, "With ca-certificate, name a PEM file that can be read.", .never)
            case 1, 2, 3, 4, 43, 48, 49:
                (.badConfiguration, "Check upload-to and s3-endpoint.", .never)
            default: (.unreachable, "Check whether the receiver and the network work. \(again)", .later)
            }
        self.init(code, at: location, failure.message, advice: advice, retry: retry)
    }

    /// The error for a receiver that has a different file.
    static func mismatch(_ code: Code, at location: String, _ reason: String) -> UploadError {
        code == .corrupted
            ? UploadError(
                code, at: location, reason,
                advice: "The upload will be retried. If it keeps failing, check the receiver.", retry: .later)
            : UploadError(
                code, at: location, "a different file has this name there already, and is not replaced: \(reason)",
                advice: "Check it, move it out of the way, and request the upload again.", retry: .never)
    }
}
