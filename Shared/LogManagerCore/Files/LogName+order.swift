package import Recording

extension LogName {
    /// Whether it is the same, byte by byte: names of files that only look the same are two.
    package func isSame(as other: LogName) -> Bool { text.utf8.elementsEqual(other.text.utf8) }

    /// Whether it stands before another one, byte by byte.
    package func isBefore(_ other: LogName) -> Bool {
        text.utf8.lexicographicallyPrecedes(other.text.utf8)
    }
}
