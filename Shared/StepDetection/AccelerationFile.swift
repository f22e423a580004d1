package import TextInput

/// A table of accelerations on disk, plain or compressed with gzip, read from its beginning to its end.
///
/// Holds one chunk and one line, however long the file is.
package enum AccelerationFile {
    /// Gives every sample, seconds and three axes, to `body`, in the file's order.
    ///
    /// - Returns: the number of rows that were no samples.
    /// - Throws: `unreadable` if the file cannot be opened or read, or was cut off; `invalidInput` if its columns are not known.
    package static func read(_ path: String, _ body: (SIMD4<Double>) -> Void) throws(TextInputError) -> Int {
        let reader = try LineReader<TextInputError>(path: path)
        var table = AccelerationTable()
        // A header is not a row.
        var leftOut = -1
        while true {
            let isLine: Void? = try reader.next { (line) throws(TextInputError) in
                if line.isEmpty { return }
                if let sample = try table.sample(line) {
                    leftOut = max(0, leftOut)
                    body(sample)
                } else {
                    leftOut += 1
                }
            }
            if isLine == nil { return max(0, leftOut) }
        }
    }
}
