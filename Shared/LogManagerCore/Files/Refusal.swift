/// Why a file was left alone: the rest of a sentence that begins with the file's path.
package struct Refusal: Error, Hashable, Sendable, CustomStringConvertible {
    /// Such as `it is a symbolic link; its target is not touched`.
    package let description: String

    package init(_ description: String) { self.description = description }
}
