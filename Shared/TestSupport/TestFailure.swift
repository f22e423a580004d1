/// Why a test can't continue, with all that is known, because the failure may not be reproducible.
package struct TestFailure: Error, CustomStringConvertible, Sendable {
    /// The reason, with a program's output up to then.
    package let description: String

    package init(_ description: String) { self.description = description }
}
