import ArchiveStorage
package import Encryption
package import Files
package import Upload

/// Why something could not be done for a session, and when it is tried again.
package struct ArchiveFailure: Error, Hashable, Sendable {
    /// When it is tried again by itself.
    package enum Retry: Hashable, Sendable {
        /// Not before somebody asks for it, or the program starts anew.
        case never
        /// Each time later.
        case backingOff
        /// After this time.
        case after(Duration)
    }

    /// A word for the kind of failure.
    package var code: String
    /// What went wrong and what to do, in sentences.
    package var reason: String
    package var retry: Retry
    /// Whether the receiver or log-manager is what failed, and not the making of the archive.
    package var isRefusal = false

    package init(code: String, reason: String, retry: Retry, isRefusal: Bool = false) {
        self.code = code
        self.reason = reason
        self.retry = retry
        self.isRefusal = isRefusal
    }

    /// An archive could not be made.
    package init(_ error: ArchiveError) {
        let retry: Retry =
            switch error.code {
            // What the disk or a certificate lacks may be there later, and a file that was being changed may be whole.
            case .noSpace, .inputOutput, .badCertificate, .notOver, .changed: .backingOff
            default: .never
            }
        self.init(code: error.code.rawValue, reason: error.description, retry: retry)
    }

    /// An archive was not uploaded.
    package init(_ error: UploadError) {
        let retry: Retry =
            switch (error.retry, error.code) {
            // Trying at once is no use, but a key or a share that was repaired must not need a request for each session.
            case (.never, .notPermitted), (.never, .notFound): .backingOff
            case (.never, _): .never
            case (.later, _): .backingOff
            case (.after(let time), _): .after(time)
            }
        self.init(code: error.code.rawValue, reason: error.description, retry: retry, isRefusal: true)
    }

    /// Something beside the archives could not be read or written.
    package init(_ error: RecordingError) {
        self.init(
            code: error.code.rawValue, reason: error.description,
            retry: error.code == .unreadable ? .never : .backingOff)
    }

    /// Log-manager does not answer. What waits for it is tried again when it was left alone for a while.
    package static func away(_ endpoint: String, after pause: Duration) -> ArchiveFailure {
        ArchiveFailure(
            code: "logManagerAway",
            reason: "log-manager at \(endpoint) does not answer: uploaded files will be marked when it is back",
            retry: .after(pause), isRefusal: true)
    }

    /// Whether it is that log-manager does not answer.
    var isAway: Bool { code == "logManagerAway" }

    /// An archive of a session must not replace one of an earlier session of its name.
    static func earlier(_ name: String) -> ArchiveFailure {
        ArchiveFailure(
            code: ArchiveError.Code.alreadyExists.rawValue,
            reason:
                "\(ArchiveDirectory.path(of: name)) is the archive of an earlier session of this name, and is not replaced. Move "
                + "it away, and the archive of this session is made.",
            retry: .backingOff)
    }

    /// An archive must not leave this machine as it is.
    static func unencrypted(_ name: String) -> ArchiveFailure {
        ArchiveFailure(
            code: "notEncrypted",
            reason:
                "\(ArchiveDirectory.path(of: name)) is from before a certificate was configured, and is not uploaded for "
                + "it is not encrypted. Remove it, and an encrypted one is made; or start the archiver without certificates.",
            retry: .never, isRefusal: true)
    }
}
