/// Walks the rows of `values` of a received `samples.v1` body in place: finds each number without parsing it.
///
/// So a caller can copy the digits as they arrived. Everything is checked on the way: each row must have the same number of
/// values. A value is a JSON number, `null`, or one of the strings "NaN", "Infinity" and "-Infinity"; in a stream of records it
/// is one that its field's type accepts. The array is known to be valid only when `next()` has returned false: until then, be
/// ready to discard the copy.
///
/// Holds the pointer to the frame, so use it inside the closure that lends the frame.
///
///     var rows = SampleRows(frame, values: values, columns: 4)
///     while try rows.next() {
///         for column in 0..<4 { buffer.append(UnsafeRawBufferPointer(rebasing: frame[rows.token(column)])) }
///     }
public struct SampleRows: ~Copyable {
    /// The number of values in each row.
    public let columns: Int
    /// The number of rows that `next()` has found.
    public private(set) var rowCount = 0

    private let frame: UnsafeRawBufferPointer
    /// The types of the columns, in a stream of records.
    private let types: [FieldType]
    private let isOfRecords: Bool
    private let end: Int
    private var scanner: JSONScanner
    private var isDone = false
    /// The ranges of the current row's values.
    @usableFromInline let tokens: UnsafeMutablePointer<Range<Int>>

    /// Creates a walk over the rows of an array.
    ///
    /// - Parameters:
    ///   - values: the range of the array in `frame`, as `SampleBody` found it.
    ///   - columns: the number of values that a row must have.
    ///   - types: a type for each column, in a stream of records.
    public init(_ frame: UnsafeRawBufferPointer, values: Range<Int>, columns: Int, types: [FieldType]? = nil) {
        precondition(columns >= 0, "a row has no negative number of columns")
        precondition(types.map { $0.count == columns } ?? true, "a column has one type")
        self.frame = frame
        self.types = types ?? []
        isOfRecords = types != nil
        self.columns = columns
        end = values.upperBound
        scanner = JSONScanner(frame, in: values)
        tokens = .allocate(capacity: columns)
        tokens.initialize(repeating: 0..<0, count: columns)
    }

    deinit {
        tokens.deallocate()
    }

    /// The range of a value of the current row in the frame, including the quotes of a string.
    @inlinable
    public func token(_ column: Int) -> Range<Int> {
        precondition(column >= 0 && column < columns, "a row has only its columns")
        return tokens[column]
    }

    /// The number that a value of the current row spells; NaN for `null`.
    public func number(_ column: Int) -> Double {
        DecimalParser.parse(UnsafeRawBufferPointer(rebasing: frame[token(column)])) ?? .nan
    }

    /// Moves to the next row. Returns false if there is none, and after an error.
    ///
    /// - Throws: `malformed`, `wrongType` or `wrongColumns`.
    public mutating func next() throws(MessageError) -> Bool {
        if isDone { return false }
        // Only a complete row resets this.
        isDone = true
        if rowCount == 0 {
            try scanner.expect(UInt8(ascii: "["))
            if scanner.skip(UInt8(ascii: "]")) {
                try scanner.finish()
                return false
            }
        } else if !scanner.skip(UInt8(ascii: ",")) {
            try scanner.expect(UInt8(ascii: "]"))
            try scanner.finish()
            return false
        }
        if isOfRecords { try readRecord() } else { try readRow() }
        rowCount += 1
        isDone = false
        return true
    }

    private mutating func readRow() throws(MessageError) {
        guard scanner.skip(UInt8(ascii: "[")) else {
            throw MessageError(.wrongType, "row \(rowCount) of \"values\" must be an array")
        }
        for column in 0..<columns {
            guard column == 0 || scanner.skip(UInt8(ascii: ",")) else { throw columnError() }
            guard let byte = scanner.peek() else { throw columnError() }
            if byte == UInt8(ascii: "-") || byte &- UInt8(ascii: "0") < 10 {
                tokens[column] = try scanner.skipNumber()
            } else {
                tokens[column] = try skipWord(byte)
            }
        }
        guard scanner.skip(UInt8(ascii: "]")) else { throw columnError() }
    }

    /// Reads a row of a stream of records.
    @inline(never)
    private mutating func readRecord() throws(MessageError) {
        guard scanner.skip(UInt8(ascii: "[")) else {
            throw MessageError(.wrongType, "row \(rowCount) of \"values\" must be an array")
        }
        for column in 0..<columns {
            guard column == 0 || scanner.skip(UInt8(ascii: ",")) else { throw columnError() }
            guard let byte = scanner.peek(), byte != UInt8(ascii: "]") else { throw columnError() }
            let token = try scanner.skipValue(ofDepth: FieldType.maximumDepth)
            guard types[column].accepts(UnsafeRawBufferPointer(rebasing: frame[token])) else {
                throw MessageError(
                    .wrongType,
                    "value \(column) of row \(rowCount) of \"values\" is not \(types[column].rawValue), as \"types\" says"
                )
            }
            tokens[column] = token
        }
        guard scanner.skip(UInt8(ascii: "]")) else { throw columnError() }
        if columns > 1, tokens[columns - 1].upperBound - tokens[1].lowerBound > RecordValues.maximumRecordBytes {
            throw MessageError(
                .outOfRange, "row \(rowCount) of \"values\" has more than \(RecordValues.maximumRecordBytes) bytes")
        }
    }

    @inline(never)
    private mutating func skipWord(_ byte: UInt8) throws(MessageError) -> Range<Int> {
        if byte == UInt8(ascii: "]") { throw columnError() }
        let start = scanner.index
        if byte == UInt8(ascii: "n") {
            try scanner.skipWord("null")
            return start..<scanner.index
        }
        if byte == UInt8(ascii: "\"") {
            let token = try scanner.skipString()
            if DecimalParser.nonFinite(UnsafeRawBufferPointer(rebasing: frame[token])) != nil { return token }
        }
        throw MessageError(.wrongType, "row \(rowCount) of \"values\" has something else than numbers")
    }

    /// The error if the comma or bracket that the number of columns requires is missing.
    @inline(never)
    private mutating func columnError() -> MessageError {
        switch scanner.peek() {
        case UInt8(ascii: ","), UInt8(ascii: "]"):
            MessageError(
                .wrongColumns, "row \(rowCount) of \"values\" must have \(columns) values, as \"fields\" has names")
        default: scanner.malformed("a comma or a bracket was expected")
        }
    }
}
