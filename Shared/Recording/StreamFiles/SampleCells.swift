import Messages

/// Where the values of a sample stand in the bytes of its record.
///
/// The recorder writes uptime, timestamp, step path, sensor type, then the stream's fields, in every format. Keeps its memory from
/// record to record.
package struct SampleCells: Sendable {
    /// The digits of the publisher's uptime in seconds.
    package private(set) var uptime = 0..<0
    /// The digits of the seconds since the session's start.
    package private(set) var timestamp = 0..<0
    /// The stream's fields: JSON values, or fields of a table with their quotes.
    package private(set) var values: [Range<Int>]

    package init(fields: Int) {
        values = [Range<Int>](repeating: 0..<0, count: fields)
    }

    /// Finds them.
    ///
    /// - Returns: whether the record has as many fields as the stream.
    @inline(__always)
    package mutating func find(in record: UnsafeRawBufferPointer, _ format: LogFormat) -> Bool {
        if !format.isTable { return (try? findInObject(record)) ?? false }
        return findInRow(record, delimiter: format.delimiter)
    }

    /// Takes where uptime, timestamp and the stream's fields stand.
    ///
    /// - Returns: whether these are as many fields as the stream has.
    @inline(__always)
    mutating func take(_ numbers: [Range<Int>]) -> Bool {
        guard numbers.count == values.count + 2 else { return false }
        uptime = numbers[0]
        timestamp = numbers[1]
        for index in values.indices { values[index] = numbers[index + 2] }
        return true
    }

    private mutating func findInObject(_ record: UnsafeRawBufferPointer) throws(MessageError) -> Bool {
        var scanner = JSONScanner(record)
        try scanner.expect(UInt8(ascii: "{"))
        uptime = try Self.value(&scanner)
        try scanner.expect(UInt8(ascii: ","))
        timestamp = try Self.value(&scanner)
        // The step path and the sensor type.
        try scanner.expect(UInt8(ascii: ","))
        _ = try Self.value(&scanner)
        try scanner.expect(UInt8(ascii: ","))
        _ = try Self.value(&scanner)
        for index in values.indices {
            guard scanner.skip(UInt8(ascii: ",")) else { return false }
            values[index] = try Self.value(&scanner)
        }
        return scanner.skip(UInt8(ascii: "}"))
    }

    @inline(__always)
    private static func value(_ scanner: inout JSONScanner) throws(MessageError) -> Range<Int> {
        try scanner.skipString()
        try scanner.expect(UInt8(ascii: ":"))
        guard let byte = scanner.peek() else { throw MessageError(.malformed, "a record ends early") }
        if byte == UInt8(ascii: "-") || byte &- UInt8(ascii: "0") < 10 { return try scanner.skipNumber() }
        return try scanner.skipValue()
    }

    private mutating func findInRow(_ record: UnsafeRawBufferPointer, delimiter: UInt8) -> Bool {
        var start = 0
        var index = 0
        var column = 0
        let last = values.count + 3
        while column <= last {
            if index < record.count, record[index] == UInt8(ascii: "\"") {
                index += 1
                while index < record.count {
                    let isQuote = record[index] == UInt8(ascii: "\"")
                    index += 1
                    guard isQuote else { continue }
                    guard index < record.count, record[index] == UInt8(ascii: "\"") else { break }
                    index += 1
                }
            }
            while index < record.count, record[index] != delimiter { index += 1 }
            switch column {
            case 0: uptime = start..<index
            case 1: timestamp = start..<index
            case 2, 3: break
            default: values[column - 4] = start..<index
            }
            guard index < record.count else { return column == last }
            column += 1
            index += 1
            start = index
        }
        return true
    }
}
