/// Why nothing was done with a file: the rest of a sentence that begins with its path.
struct Refusal: Error, Hashable, Sendable, CustomStringConvertible {
    /// `it is a symbolic link, and where it leads is not touched`
    let description: String

    /// A refusal with its words.
    init(_ description: String) { self.description = description }
}
