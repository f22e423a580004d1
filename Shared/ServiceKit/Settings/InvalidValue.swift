/// Why a typed text is not a valid value: a sentence that explains the valid form.
package struct InvalidValue: Error, Hashable, Sendable, CustomStringConvertible {
    /// The sentence: `'5 parsecs' is not a duration: write 200ms, 10s, 5m, 2h or 7d`.
    package let description: String

    package init(_ description: String) { self.description = description }
}
