import Upload
import Encryption
import Files
import Messages
import Recording

/// Why something could not be done for a session, and when it is tried again.
struct ArchiveFailure: Error, Hashable, Sendable {
    /// When it is tried again by itself.
    enum Retry: Hashable, Sendable {
        /// Not before somebody asks for it, or the program starts anew.
        case never
        /// Each time later.
        case backingOff
        /// After this time.
        case after(Duration)
    }

    /// A word for the kind of failure.
    var code: String
    /// What went wrong and what to do, in sentences.
    var reason: String
    var retry: Retry
    /// Whether the receiver or log-manager is what failed, and not the making of the archive.
    var isRefusal = false

    init(code: String, reason: String, retry: Retry, isRefusal: Bool = false) {
        self.code = code
        self.reason = reason
        self.retry = retry
        self.isRefusal = isRefusal
    }

    /// An archive could not be made.
    init(_ error: ArchiveError) {
        let retry: Retry =
            switch error.code {
            // What the disk or a certificate lacks may be there later; a session's files don't change by themselves.
            case .noSpace, .inputOutput, .badCertificate, .notOver: .backingOff
            default: .never
            }
        self.init(code: error.code.rawValue, reason: error.description, retry: retry)
    }

    /// An archive was not uploaded.
    init(_ error: UploadError) {
        let retry: Retry =
            switch error.retry {
            case .never: .never
            case .later: .backingOff
            case .after(let time): .after(time)
            }
        self.init(code: error.code.rawValue, reason: error.description, retry: retry, isRefusal: true)
    }

    /// Something beside the archives could not be read or written.
    init(_ error: RecordingError) {
        self.init(
            code: error.code.rawValue, reason: error.description,
            retry: error.code == .unreadable ? .never : .backingOff)
    }
}
