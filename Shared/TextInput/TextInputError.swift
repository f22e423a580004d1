/// What went wrong with text that is read from a file or a pipe, in words for the person who has to mend it.
package struct TextInputError: Error, Hashable, CustomStringConvertible {
    /// The kind of failure. An open set: more may be added.
    package struct Code: Hashable, Sendable, RawRepresentable {
        package let rawValue: String

        package init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// A file could not be opened or read.
        package static let unreadable = Self(rawValue: "unreadable")
        /// A file or a line does not hold what it should.
        package static let invalidInput = Self(rawValue: "invalidInput")
    }

    /// The kind of failure.
    package let code: Code
    /// A sentence for a person.
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
