/// Why a test can't continue: a sentence with all that is known, since the run can't be repeated by looking at it.
package struct TestFailure: Error, CustomStringConvertible, Sendable {
    /// The sentence, and what a program said until then.
    package let description: String

    /// A failure with its sentence.
    package init(_ description: String) { self.description = description }
}
