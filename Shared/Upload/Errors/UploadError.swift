/// Why a file did not get to its receiver, whether to try again, and what a person can do about it.
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

        /// The receiver does not let us.
        package static let notPermitted = Code(rawValue: "notPermitted")
        /// The bucket or the directory is not there.
        package static let notFound = Code(rawValue: "notFound")
        /// The receiver has no room.
        static let full = Code(rawValue: "full")
        /// The receiver does not take files of this size.
        static let tooLarge = Code(rawValue: "tooLarge")
        /// The receiver asks us to come later.
        package static let busy = Code(rawValue: "busy")
        /// Something is wrong inside the receiver.
        static let receiverFailed = Code(rawValue: "receiverFailed")
        /// The receiver was not reached, or the connection broke.
        package static let unreachable = Code(rawValue: "unreachable")
        /// Nothing moved for too long.
        package static let timedOut = Code(rawValue: "timedOut")
        /// The receiver's certificate is not to be trusted; nothing was sent.
        static let untrusted = Code(rawValue: "untrusted")
        /// The receiver got other bytes than were sent.
        package static let corrupted = Code(rawValue: "corrupted")
        /// The receiver has another file of this name, which is not replaced.
        package static let different = Code(rawValue: "different")
        /// The receiver took the file, but nothing shows that what it has is the file.
        static let unconfirmed = Code(rawValue: "unconfirmed")
        /// The receiver sends us elsewhere, where we don't follow.
        static let redirected = Code(rawValue: "redirected")
        /// The receiver does not understand what we ask.
        package static let refused = Code(rawValue: "refused")
        /// The archive on this machine can't be read, or is not what it was.
        static let unreadable = Code(rawValue: "unreadable")
        /// Settings or secrets on this machine can't be used.
        static let badConfiguration = Code(rawValue: "badConfiguration")
        /// The task was cancelled.
        package static let cancelled = Code(rawValue: "cancelled")
    }

    /// Whether the same may succeed later by itself.
    package enum Retry: Hashable, Sendable {
        /// Not before a person did something.
        case never
        /// Perhaps.
        case later
        /// Not before so much time has passed: the receiver said so.
        case after(Duration)
    }

    package let code: Code
    /// Where the file was to go, without secrets.
    let location: String
    /// What went wrong: the rest of a sentence.
    let reason: String
    /// What to do, a sentence.
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

    /// The task was cancelled.
    static func cancelled(at location: String) -> UploadError {
        UploadError(
            .cancelled, at: location, "it was cancelled", advice: "The next try resumes or starts over.", retry: .later)
    }
}
