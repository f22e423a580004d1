package import TextInput

/// A file of accelerations, plain or compressed with gzip, read from its beginning to its end: a table, or JSON with a record
/// on each line, as the recorder writes both.
///
/// Holds one chunk and one line, however long the file is.
package enum AccelerationFile {
    /// Gives every row to `body`, in the file's order.
    ///
    /// - Throws: `unreadable` if the file cannot be opened or read, or was cut off; `invalidInput` if its columns are not known;
    ///   and what the body throws.
    package static func forEachRow(
        _ path: String, _ body: (AccelerationRow) throws(TextInputError) -> Void
    ) throws(TextInputError) {
        let reader = try LineReader<TextInputError>(path: path)
        var table = AccelerationTable()
        var isJSON: Bool?
        while try reader.next({ (line) throws(TextInputError) in
            if line.isEmpty { return }
            if isJSON == nil { isJSON = AccelerationObject.begins(line) }
            if isJSON == true {
                if let row = AccelerationObject.row(line) { try body(row) }
            } else if let row = try table.row(line) {
                try body(row)
            }
        }) {}
    }

    /// Gives every sample, seconds and three axes, to `body`, in the file's order.
    ///
    /// - Returns: the number of rows that were neither samples nor markers.
    package static func read(_ path: String, _ body: (SIMD4<Double>) -> Void) throws(TextInputError) -> Int {
        var leftOut = 0
        try forEachRow(path) { row in
            switch row {
            case .sample(let sample): body(sample)
            case .marker: break
            case .none: leftOut += 1
            }
        }
        return leftOut
    }
}
