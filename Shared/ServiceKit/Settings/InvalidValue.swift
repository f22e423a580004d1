/// Why something that a person typed is not a value: a sentence that says what would be right.
package struct InvalidValue: Error, Hashable, Sendable, CustomStringConvertible {
    /// The sentence: `'5 parsecs' is not a duration: write 200ms, 10s, 5m, 2h or 7d`.
    package let description: String

    /// An error with its sentence.
    package init(_ description: String) { self.description = description }
}
