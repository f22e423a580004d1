package import Recording

extension LogName {
    /// Whether both names have the same bytes: file names that only look the same (Unicode equivalence) are different files.
    package func isSame(as other: LogName) -> Bool { text.utf8.elementsEqual(other.text.utf8) }

    /// Whether this name sorts before another, byte by byte.
    package func isBefore(_ other: LogName) -> Bool {
        text.utf8.lexicographicallyPrecedes(other.text.utf8)
    }
}
