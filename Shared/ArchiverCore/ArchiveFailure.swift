import ArchiveStorage
package import Encryption
package import Files
package import Upload

/// Why an operation for a session failed, and when it is retried.
package struct ArchiveFailure: Error, Hashable, Sendable {
    /// When the operation is retried automatically.
    package enum Retry: Hashable, Sendable {
        /// Only after a request or a restart of the program.
        case never
        /// After a growing delay.
        case backingOff
        /// After this time.
        case after(Duration)
    }

    package var code: String
    /// What went wrong and what to do, in sentences.
    package var reason: String
    package var retry: Retry
    /// Whether the receiver or log-manager failed, and not the making of the archive.
    package var isRefusal = false

    package init(code: String, reason: String, retry: Retry, isRefusal: Bool = false) {
        self.code = code
        self.reason = reason
        self.retry = retry
        self.isRefusal = isRefusal
    }

    package init(_ error: ArchiveError) {
        let retry: Retry =
            switch error.code {
            // The disk or certificate may be usable later, and a file that was being changed may be complete.
            case .noSpace, .inputOutput, .badCertificate, .notOver, .changed: .backingOff
            default: .never
            }
        self.init(code: error.code.rawValue, reason: error.description, retry: retry)
    }

    package init(_ error: UploadError) {
        let retry: Retry =
            switch (error.retry, error.code) {
            // An immediate retry is useless, but after a key or a share is repaired, no request for each session should be
            // needed.
            case (.never, .notPermitted), (.never, .notFound): .backingOff
            case (.never, _): .never
            case (.later, _): .backingOff
            case (.after(let time), _): .after(time)
            }
        self.init(code: error.code.rawValue, reason: error.description, retry: retry, isRefusal: true)
    }

    /// A file other than an archive could not be read or written.
    package init(_ error: RecordingError) {
        self.init(
            code: error.code.rawValue, reason: error.description,
            retry: error.code == .unreadable ? .never : .backingOff)
    }

    /// log-manager does not reply. The operation is retried after a pause.
    package static func away(_ endpoint: String, after pause: Duration) -> ArchiveFailure {
        ArchiveFailure(
            code: "logManagerAway",
            reason: "log-manager at \(endpoint) does not answer: uploaded files will be marked when it is back",
            retry: .after(pause), isRefusal: true)
    }

    /// Whether the failure is that log-manager does not reply.
    var isAway: Bool { code == "logManagerAway" }

    /// A session's archive must not replace the archive of an earlier session of its name.
    static func earlier(_ name: String) -> ArchiveFailure {
        ArchiveFailure(
            code: ArchiveError.Code.alreadyExists.rawValue,
            reason:
                "\(ArchiveDirectory.path(of: name)) is the archive of an earlier session of this name, and is not replaced. Move "
                + "it away to have this session's archive made.",
            retry: .backingOff)
    }

    /// The archive must not be uploaded unencrypted.
    static func unencrypted(_ name: String) -> ArchiveFailure {
        ArchiveFailure(
            code: "notEncrypted",
            reason:
                "\(ArchiveDirectory.path(of: name)) was made before a certificate was configured. It is not uploaded, "
                + "because it is not encrypted. Move it away to have an encrypted one made, or start the archiver without "
                + "certificates.",
            retry: .never, isRefusal: true)
    }
}
