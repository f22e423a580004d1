/// Why a file did not reach its receiver, whether to try again, and what a person can do about it.
///
/// Act on `retry` and `code`; show `description`. Holds no secrets.
package struct UploadError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of failure. Open: more may be added, so a `switch` needs a default. The raw value is the word that
    /// replies carry as `data.reason`.
    package struct Code: RawRepresentable, Hashable, Sendable {
        package let rawValue: String

        package init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// The receiver denies access.
        package static let notPermitted = Code(rawValue: "notPermitted")
        /// The bucket or directory does not exist.
        package static let notFound = Code(rawValue: "notFound")
        /// The receiver's storage is full.
        static let full = Code(rawValue: "full")
        /// The receiver does not accept files of this size.
        static let tooLarge = Code(rawValue: "tooLarge")
        /// The receiver requests a later attempt.
        package static let busy = Code(rawValue: "busy")
        /// The receiver had an internal error.
        static let receiverFailed = Code(rawValue: "receiverFailed")
        /// The receiver could not be reached, or the connection broke.
        package static let unreachable = Code(rawValue: "unreachable")
        /// No data was transferred for too long.
        package static let timedOut = Code(rawValue: "timedOut")
        /// The receiver's certificate is not trusted; nothing was sent.
        static let untrusted = Code(rawValue: "untrusted")
        /// The receiver got different bytes than were sent.
        package static let corrupted = Code(rawValue: "corrupted")
        /// The receiver has a different file of this name, which is not replaced.
        package static let different = Code(rawValue: "different")
        /// The receiver accepted the file, but nothing proves that it stored the right bytes.
        static let unconfirmed = Code(rawValue: "unconfirmed")
        /// The receiver redirects to another address, which is not followed.
        static let redirected = Code(rawValue: "redirected")
        /// The receiver does not understand the request.
        package static let refused = Code(rawValue: "refused")
        /// The archive on this machine cannot be read or has changed.
        static let unreadable = Code(rawValue: "unreadable")
        /// Settings or secrets on this machine are unusable.
        static let badConfiguration = Code(rawValue: "badConfiguration")
        package static let cancelled = Code(rawValue: "cancelled")
    }

    /// Whether a repeated attempt may succeed.
    package enum Retry: Hashable, Sendable {
        /// A person must act first.
        case never
        /// A later attempt may succeed.
        case later
        /// A later attempt may succeed, but not before this time has passed, as the receiver requested.
        case after(Duration)
    }

    package let code: Code
    /// The intended location of the file, without secrets.
    let location: String
    /// The cause, as the rest of a sentence.
    let reason: String
    /// What to do, as a sentence.
    let advice: String
    package let retry: Retry

    package init(_ code: Code, at location: String, _ reason: String, advice: String, retry: Retry) {
        self.code = code
        self.location = location
        self.reason = reason
        self.advice = advice
        self.retry = retry
    }

    /// Two sentences: what failed and why, and what to do.
    package var description: String { "Could not upload to \(location): \(reason). \(advice)" }

    static func cancelled(at location: String) -> UploadError {
        UploadError(
            .cancelled, at: location, "it was cancelled", advice: "The next try resumes or starts over.", retry: .later)
    }
}
