package import TextInput

/// What went wrong in a source, a specification or a sampler, in words for the person who has to fix it.
///
/// `code` is for programs (its raw value is the `reason` word of an error reply), `message` says what failed, with what, and what to do.
package struct PublisherError: Error, Hashable, CustomStringConvertible {
    /// The kind of failure. An open set: more may be added.
    package struct Code: Hashable, Sendable, RawRepresentable {
        package let rawValue: String

        package init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// A value that was asked for is not possible: a rate of zero, an unknown key, two streams of one name.
        package static let invalidParameter = Self(rawValue: "invalidParameter")
        /// A file, a line or an item does not hold what it should.
        package static let invalidInput = Self(rawValue: "invalidInput")
        /// A file could not be opened or read.
        package static let unreadable = Self(rawValue: "unreadable")
        /// The stream's source is over and can't begin anew.
        package static let finished = Self(rawValue: "finished")
        /// The stream is sampling already.
        package static let alreadyRunning = Self(rawValue: "alreadyRunning")
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

extension PublisherError: TextInputFailure {
    package init(_ error: TextInputError) {
        self.init(Code(rawValue: error.code.rawValue), error.message)
    }

    package func at(_ place: String) -> Self {
        Self(code, "\(place): \(message)")
    }
}
