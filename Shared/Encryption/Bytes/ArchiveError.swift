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

        /// There is no such session, file or archive.
        package static let notFound = Code(rawValue: "notFound")
        /// The session continues, or is being finished.
        package static let notOver = Code(rawValue: "notOver")
        /// The disk, or the user's share of it, is full.
        package static let noSpace = Code(rawValue: "noSpace")
        /// Any other failure of the system while reading or writing.
        package static let inputOutput = Code(rawValue: "inputOutput")
        /// A file of the session is not what it was, or became another while it was read.
        package static let changed = Code(rawValue: "changed")
        /// What was given can't be used as it is: a name, a result, a certificate's file.
        package static let invalidParameter = Code(rawValue: "invalidParameter")
        /// A certificate can't be encrypted to.
        package static let badCertificate = Code(rawValue: "badCertificate")
        /// An archive is not what was made.
        package static let damaged = Code(rawValue: "damaged")
        /// The key does not open an archive, or there is none.
        package static let wrongKey = Code(rawValue: "wrongKey")
        /// Somebody asked for an end.
        package static let stopped = Code(rawValue: "stopped")
        /// There is something where the result should be.
        package static let alreadyExists = Code(rawValue: "alreadyExists")
    }

    package let code: Code
    /// What failed, with what, why, and what to do.
    package let message: String
    /// The file of the session that it is about: an archive can be made without that one.
    package let file: String?

    package init(_ code: Code, _ message: String, file: String? = nil) {
        self.code = code
        self.message = message
        self.file = file
    }

    /// The error for something that could not be done with a file or directory.
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
