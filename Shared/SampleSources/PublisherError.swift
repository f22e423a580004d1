package import TextInput

/// An error of a source, a specification or a sampler, in words for the person who has to fix it.
///
/// `code` is for programs: its raw value is the `reason` in an error reply. `message` has the failure, its value and the remedy.
package struct PublisherError: Error, Hashable, CustomStringConvertible {
    /// The kind of failure. More kinds may be added.
    package struct Code: Hashable, Sendable, RawRepresentable {
        package let rawValue: String

        package init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// A requested value is impossible: a rate of zero, an unknown key, two streams of one name.
        package static let invalidParameter = Self(rawValue: "invalidParameter")
        /// The content of a file, a line or an item is wrong.
        package static let invalidInput = Self(rawValue: "invalidInput")
        /// A file could not be opened or read.
        package static let unreadable = Self(rawValue: "unreadable")
        /// The stream's source has ended and cannot be restarted.
        package static let finished = Self(rawValue: "finished")
        package static let alreadyRunning = Self(rawValue: "alreadyRunning")
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

extension PublisherError: TextInputFailure {
    package init(_ error: TextInputError) {
        self.init(Code(rawValue: error.code.rawValue), error.message)
    }

    package func at(_ place: String) -> Self {
        Self(code, "\(place): \(message)")
    }
}
