package import TextInput

/// A file of accelerations, plain or compressed with gzip, read from its beginning to its end: a table, or JSON with a record
/// on each line, as the recorder writes both.
///
/// Holds one chunk and one line, however long the file is.
package struct AccelerationFile: ~Copyable {
    private let reader: LineReader<TextInputError>
    private var table = AccelerationTable()
    private var isJSON: Bool?

    /// - Throws: `unreadable` if the file cannot be opened.
    package init(_ path: String) throws(TextInputError) {
        reader = try LineReader(path: path)
    }

    /// The next row; nil at the end.
    /// - Throws: `unreadable` if the file cannot be read, or was cut off; `invalidInput` if its columns are not known.
    package mutating func next() throws(TextInputError) -> AccelerationRow? {
        while true {
            var row: AccelerationRow?
            let isLine = try reader.next { (line) throws(TextInputError) in
                if line.isEmpty { return }
                if isJSON == nil { isJSON = AccelerationObject.begins(line) }
                row = isJSON == true ? AccelerationObject.row(line) : try table.row(line)
            }
            if row != nil || !isLine { return row }
        }
    }

    /// Gives every sample, seconds and three axes, to `body`, in the file's order.
    ///
    /// - Returns: the number of rows that were neither samples nor markers.
    /// - Throws: as `init` and `next`.
    package static func read(_ path: String, _ body: (SIMD4<Double>) -> Void) throws(TextInputError) -> Int {
        var file = try AccelerationFile(path)
        var leftOut = 0
        while let row = try file.next() {
            switch row {
            case .sample(let sample): body(sample)
            case .marker: break
            case .none: leftOut += 1
            }
        }
        return leftOut
    }
}
