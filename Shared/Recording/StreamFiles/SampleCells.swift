import Messages

/// The ranges of a sample's values in the bytes of its record.
///
/// In every format, the recorder writes uptime, timestamp, step path and sensor type, then the stream's fields. Keeps its memory
/// from record to record.
package struct SampleCells: Sendable {
    /// The digits of the publisher's uptime in seconds.
    package private(set) var uptime = 0..<0
    /// The digits of the seconds since the session's start.
    package private(set) var timestamp = 0..<0
    /// The stream's fields: JSON values, or fields of a table with their quotes. Empty for a field that the file does not have.
    package private(set) var values: [Range<Int>]
    /// Whether it is known which fields the file has.
    private(set) var arePlaced = false

    /// What the stream's fields are called in files.
    private let names: [String]
    /// Which field each of the file's columns is; nil if they are the stream's, in the same order.
    private var places: [Int]?

    package init(fields names: [String]) {
        self.names = names
        values = [Range<Int>](repeating: 0..<0, count: names.count)
    }

    /// Forgets which fields the file had, for the next one.
    mutating func beginFile() { arePlaced = false }

    /// Takes which columns the samples of the file have.
    ///
    /// - Returns: whether all of them are fields of the stream.
    mutating func place(_ columns: [String]) -> Bool {
        let known: [Int]? = columns == names ? nil : columns.compactMap { names.firstIndex(of: $0) }
        if let known, known.count < columns.count { return false }
        places = known
        for index in values.indices { values[index] = 0..<0 }
        arePlaced = true
        return true
    }

    /// Finds the ranges of all values.
    ///
    /// - Returns: whether the record has as many fields as the file.
    @inline(__always)
    package mutating func find(in record: UnsafeRawBufferPointer, _ format: LogFormat) -> Bool {
        if !format.isTable { return (try? findInObject(record)) ?? false }
        return findInRow(record, delimiter: format.delimiter)
    }

    /// Takes the ranges of uptime, timestamp and the stream's fields.
    ///
    /// - Returns: whether these are as many fields as the file has.
    @inline(__always)
    mutating func take(_ numbers: [Range<Int>]) -> Bool {
        guard numbers.count == columnCount + 2 else { return false }
        uptime = numbers[0]
        timestamp = numbers[1]
        if let places {
            for column in places.indices { values[places[column]] = numbers[column + 2] }
        } else {
            for index in values.indices { values[index] = numbers[index + 2] }
        }
        return true
    }

    @inline(__always)
    private var columnCount: Int { places?.count ?? values.count }

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
        for column in 0..<columnCount {
            guard scanner.skip(UInt8(ascii: ",")) else { return false }
            values[places?[column] ?? column] = try Self.value(&scanner)
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
        let last = columnCount + 3
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
            default: values[places?[column - 4] ?? (column - 4)] = start..<index
            }
            guard index < record.count else { return column == last }
            column += 1
            index += 1
            start = index
        }
        return true
    }
}
