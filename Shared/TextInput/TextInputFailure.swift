/// The error type of a text's reader, which can also wrap a `TextInputError`, so that typed throws need only one type.
package protocol TextInputFailure: Error {
    /// Wraps an error of the input: a file that can't be read, a line that is too long.
    init(_ error: TextInputError)

    /// The same error, prefixed with its place: `walk.csv, line 7: …`.
    func at(_ place: String) -> Self
}
