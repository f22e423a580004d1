package import Files

/// Why an archive could not be made, read or opened, and what a person can do about it.
///
/// Act on `code`; show `description`.
package struct ArchiveError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of failure. Open: more may be added, so a `switch` needs a default.
    package struct Code: RawRepresentable, Hashable, Sendable {
        package let rawValue: String

        package init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// The session, file or archive does not exist.
        package static let notFound = Code(rawValue: "notFound")
        /// The session is still running or being finished.
        package static let notOver = Code(rawValue: "notOver")
        /// The disk or the user's quota is full.
        package static let noSpace = Code(rawValue: "noSpace")
        /// Any other system error while reading or writing.
        package static let inputOutput = Code(rawValue: "inputOutput")
        /// A file of the session differs from what was recorded, or changed while it was read.
        package static let changed = Code(rawValue: "changed")
        /// A name, a result or a certificate file is unusable.
        package static let invalidParameter = Code(rawValue: "invalidParameter")
        /// Archives cannot be encrypted to a certificate.
        package static let badCertificate = Code(rawValue: "badCertificate")
        /// An archive differs from what was made.
        package static let damaged = Code(rawValue: "damaged")
        /// The key does not decrypt the archive, or is missing.
        package static let wrongKey = Code(rawValue: "wrongKey")
        /// Cancelled because the program is stopping.
        package static let stopped = Code(rawValue: "stopped")
        /// The target already exists.
        package static let alreadyExists = Code(rawValue: "alreadyExists")
    }

    package let code: Code
    /// What failed, with which value, why, and what to do.
    package let message: String
    /// The session's file that caused the error. An archive can be made without it.
    package let file: String?

    package init(_ code: Code, _ message: String, file: String? = nil) {
        self.code = code
        self.message = message
        self.file = file
    }

    package init(_ error: RecordingError, file: String? = nil) {
        let code: Code =
            switch error.code {
            case .notFound: .notFound
            case .noSpace: .noSpace
            case .unreadable: .changed
            case .invalidParameter: .invalidParameter
            default: .inputOutput
            }
        self.init(code, error.description, file: file)
    }

    package var description: String { message }
}
