/// What is thrown while text is read: an error of who reads it, which can also hold the text's own, so that there is one type.
package protocol TextInputFailure: Error {
    /// The text's own failure: a file that cannot be read, a line that is too long.
    init(_ error: TextInputError)

    /// The same failure with the place where it happened in front: `walk.csv, line 7: …`.
    func at(_ place: String) -> Self
}
