package import SystemPackage

/// A failure of a recording, or of its files, with advice for a person.
///
/// Act on `code`; show `description`. The code's raw value is the word that replies carry as `data.reason`.
package struct RecordingError: Error, Hashable, CustomStringConvertible {
    /// The kind of failure. Open: more may be added, so a `switch` needs a default.
    package struct Code: RawRepresentable, Hashable, Sendable {
        package let rawValue: String

        package init(rawValue: String) {
            self.rawValue = rawValue
        }

        package static let alreadyRunning = Code(rawValue: "alreadyRunning")
        package static let finished = Code(rawValue: "finished")
        package static let alreadyExists = Code(rawValue: "alreadyExists")
        package static let locked = Code(rawValue: "locked")
        package static let notFound = Code(rawValue: "notFound")
        /// The disk, or the user's share of it, is full (ENOSPC, EDQUOT).
        package static let noSpace = Code(rawValue: "noSpace")
        /// The path is not writable (EROFS, EACCES, EPERM).
        package static let notPermitted = Code(rawValue: "notPermitted")
        package static let inputOutput = Code(rawValue: "inputOutput")
        package static let unreadable = Code(rawValue: "unreadable")
        /// A requested value is invalid, such as a session's name.
        package static let invalidParameter = Code(rawValue: "invalidParameter")
    }

    package let code: Code

    /// The failed action, to be read after "Could not": "write to", "rename".
    package let action: String

    package let path: FilePath?

    package let errno: Errno?

    /// The cause, if it is not the system's error.
    package let reason: String?

    package let advice: String

    package init(
        _ code: Code, action: String, path: FilePath? = nil, errno: Errno? = nil, reason: String? = nil, advice: String
    ) {
        self.code = code
        self.action = action
        self.path = path
        self.errno = errno
        self.reason = reason
        self.advice = advice
    }

    /// The error that the body throws; nil if it succeeds.
    package static func thrown(by body: () throws(RecordingError) -> Void) -> RecordingError? {
        do throws(RecordingError) {
            try body()
            return nil
        } catch {
            return error
        }
    }

    /// Creates the error for a failed system call; its code and advice follow from `errno`.
    package init(_ errno: Errno, action: String, path: FilePath) {
        let (code, advice): (Code, String) =
            switch errno {
            case .noSpace, .diskQuotaExceeded:
                (.noSpace, "Everything recorded so far is intact. Free some space and start a new recording.")
            case .readOnlyFileSystem, .permissionDenied, .notPermitted:
                (.notPermitted, "Make it writable for this user, or choose another data directory.")
            case .fileExists:
                (.alreadyExists, "Choose another name, or move the existing file away.")
            case .noSuchFileOrDirectory, .notDirectory:
                (.notFound, "Check the path; it may have been moved or removed.")
            default:
                (.inputOutput, "Check the system's log for trouble with this disk.")
            }
        self.init(code, action: action, path: path, errno: errno, advice: advice)
    }

    /// One or two sentences: what failed, with which path, why, and what to do.
    package var description: String {
        var sentence = "Could not \(action)"
        if let path { sentence += " \(path)" }
        if let cause = reason ?? errno?.description { sentence += ": \(cause)" }
        return "\(sentence). \(advice)"
    }
}

extension RecordingError {
    /// A file differs from what was written.
    package static func changed(_ path: FilePath, action: String, _ reason: String) -> RecordingError {
        RecordingError(
            .unreadable, action: action, path: path, reason: reason,
            advice: "Another program must have changed it; keep other programs out of the data directory.")
    }

    /// A file that is being written does not exist any more.
    package static func removed(_ path: FilePath) -> RecordingError {
        RecordingError(
            .notFound, action: "continue to write", path: path, reason: "it was removed or replaced",
            advice: "Keep other programs out of the data directory while sessions are recorded; start a new recording.")
    }
}
