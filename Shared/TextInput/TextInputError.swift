/// An error in text from a file or a pipe, described for the person who has to fix it.
package struct TextInputError: Error, Hashable, CustomStringConvertible {
    /// The kind of error. An open set: more may be added.
    package struct Code: Hashable, Sendable, RawRepresentable {
        package let rawValue: String

        package init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// A file could not be opened or read.
        package static let unreadable = Self(rawValue: "unreadable")
        /// The contents of a file or a line are invalid.
        package static let invalidInput = Self(rawValue: "invalidInput")
    }

    package let code: Code
    /// A sentence for people.
    package let message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    package var description: String { message }
}

extension TextInputError: TextInputFailure {
    package init(_ error: TextInputError) {
        self = error
    }

    package func at(_ place: String) -> Self {
        Self(code, "\(place): \(message)")
    }
}
