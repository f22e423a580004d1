package import TextInput

/// A file of accelerations, plain or compressed with gzip, read from beginning to end: a table, or JSON with a record on each
/// line. The recorder writes both.
///
/// It holds one chunk and one line in memory, regardless of the file's length.
package struct AccelerationFile: ~Copyable {
    private let reader: LineReader<TextInputError>
    private var table = AccelerationTable()
    private var isJSON: Bool?
    /// How times are read; the next file of a recording continues with it.
    private(set) var time: SampleTime

    /// - Throws: `unreadable` if the file cannot be opened.
    init(_ path: String, _ time: SampleTime = SampleTime()) throws(TextInputError) {
        reader = try LineReader(path: path)
        self.time = time
    }

    /// The next row; nil at the end.
    /// - Throws: `unreadable` if the file cannot be read or is truncated; `invalidInput` if its columns are not known, or
    ///   a line has several records.
    package mutating func next() throws(TextInputError) -> AccelerationRow? {
        while true {
            var row: AccelerationRow?
            let isLine = try reader.next { (line) throws(TextInputError) in
                if line.isEmpty { return }
                let isFirst = isJSON == nil
                if isFirst { isJSON = AccelerationObject.begins(line) }
                if isJSON == true {
                    row = try AccelerationObject.row(line, isFirst: isFirst, &time)
                } else {
                    row = try table.row(line, &time)
                }
            }
            if row != nil || !isLine { return row }
        }
    }

    /// Passes every sample, seconds and three axes, to `body`, in the file's order.
    ///
    /// - Returns: the number of rows that were neither samples nor markers.
    /// - Throws: the errors of `init` and `next`.
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
