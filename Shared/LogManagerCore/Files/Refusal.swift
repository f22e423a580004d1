/// Why nothing was done with a file: the rest of a sentence that begins with its path.
package struct Refusal: Error, Hashable, Sendable, CustomStringConvertible {
    /// `it is a symbolic link; its target is not touched`
    package let description: String

    /// A refusal with its words.
    package init(_ description: String) { self.description = description }
}
