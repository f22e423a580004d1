import Glibc
import Messages

extension LogScanner {
    /// Reads a separator and an object in one line at a place of a JSON log.
    ///
    /// - Parameters:
    ///   - place: the end of the previous record, or of the opening.
    ///   - types: the types of a sample's own columns; `nil` if all are numbers.
    static func lookForJSON(
        _ bytes: UnsafeRawBufferPointer, at place: Int, isFirst: Bool, isLast: Bool, types: [FieldType]?
    ) -> Finding<Record> {
        var start = place
        if !isFirst {
            guard bytes.count - place >= 2 else { return isLast ? .none : .more }
            guard bytes[place] == UInt8(ascii: ","), bytes[place + 1] == UInt8(ascii: "\n") else { return .none }
            start += 2
        }
        guard start < bytes.count else { return isLast ? .none : .more }
        guard bytes[start] == UInt8(ascii: "{"), let base = bytes.baseAddress else { return .none }
        // JSON strings contain no line feed, so the record is not longer than the line.
        let lineFeed = memchr(base + start, Int32(UInt8(ascii: "\n")), bytes.count - start)
        guard lineFeed != nil || isLast else { return .more }
        let end = lineFeed.map { UnsafeRawPointer($0) - base } ?? bytes.count
        do throws(MessageError) {
            return try object(bytes, in: start..<end, types)
        } catch {
            return .none
        }
    }

    /// Reads a line feed and a line at a place of a file in an added format.
    /// - Parameter object: receives the record's object, to which the ranges of `uptime` and `types` refer.
    static func look(
        for formatter: any LogFormatter, _ bytes: UnsafeRawBufferPointer, at place: Int, isLast: Bool,
        types: [FieldType]?, _ object: inout [UInt8]
    ) -> Finding<Record> {
        guard place < bytes.count else { return isLast ? .none : .more }
        guard bytes[place] == UInt8(ascii: "\n") else { return .none }
        let start = place + 1
        // A crash may leave zeros.
        let stop = bytes[start...].firstIndex { $0 == UInt8(ascii: "\n") || $0 == 0 }
        guard let end = stop ?? (isLast ? bytes.count : nil) else { return .more }
        guard let found = formatter.object(of: UnsafeRawBufferPointer(rebasing: bytes[start..<end])) else {
            return .none
        }
        object = found
        let finding = found.withUnsafeBytes { try? Self.object($0, in: 0..<$0.count, types) }
        guard case .whole(let record)? = finding, record.bytes.count == found.count else { return .none }
        return .whole(
            Record(
                isSample: record.isSample, bytes: start..<end, uptime: record.uptime, isProven: true,
                types: record.types))
    }

    /// A record's object: numbers and strings, among them a sensor type or a marker; and values of other `types`.
    private static func object(
        _ bytes: UnsafeRawBufferPointer, in range: Range<Int>, _ types: [FieldType]?
    ) throws(MessageError) -> Finding<Record> {
        var scanner = JSONScanner(bytes, in: range)
        try scanner.expect(UInt8(ascii: "{"))
        var isSample: Bool?
        guard try scanner.skipString().count == 8 else { return .none }
        try scanner.expect(UInt8(ascii: ":"))
        let uptime = try number(&scanner)
        var column = 0
        var namedTypes: Range<Int>?
        while scanner.skip(UInt8(ascii: ",")) {
            let key = try scanner.skipString()
            try scanner.expect(UInt8(ascii: ":"))
            if isSample == true {
                // A sample's own columns, which are most of its bytes.
                if let types {
                    guard column < types.count else { return .none }
                    let value = try scanner.skipValue(ofDepth: FieldType.maximumDepth)
                    guard types[column].accepts(UnsafeRawBufferPointer(rebasing: bytes[value])) else { return .none }
                    column += 1
                } else {
                    _ = try number(&scanner)
                }
                continue
            }
            let value = try scanner.skipValue()
            guard bytes[value.lowerBound] == UInt8(ascii: "\"") else { continue }
            if isWord(bytes, key, "\"sensorType\"") { isSample = true }
            if isWord(bytes, key, "\"marker\"") { isSample = false }
            if isWord(bytes, key, "\"types\"") { namedTypes = value }
        }
        try scanner.expect(UInt8(ascii: "}"))
        guard let isSample, !isSample || column == types?.count ?? 0 else { return .none }
        return .whole(
            Record(
                isSample: isSample, bytes: range.lowerBound..<scanner.index, uptime: uptime, isProven: true,
                types: namedTypes))
    }

    /// Skips a number, a word for one that JSON does not have, or `null`.
    @inline(__always)
    private static func number(_ scanner: inout JSONScanner) throws(MessageError) -> Range<Int> {
        guard let byte = scanner.peek() else { throw MessageError(.malformed, "a record ends early") }
        if byte == UInt8(ascii: "-") || byte &- UInt8(ascii: "0") < 10 { return try scanner.skipNumber() }
        let token = try scanner.skipValue()
        let text = UnsafeRawBufferPointer(rebasing: scanner.bytes[token])
        guard byte == UInt8(ascii: "n") || number(text) != nil else {
            throw MessageError(.wrongType, "a sample has something else than numbers")
        }
        return token
    }

    /// The value of a number's text; words may have quotes.
    static func number(_ text: UnsafeRawBufferPointer) -> Double? {
        DecimalParser.parse(text)
    }

    private static func isWord(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>, _ word: StaticString) -> Bool {
        guard range.count == word.utf8CodeUnitCount, let base = bytes.baseAddress else { return false }
        return memcmp(base + range.lowerBound, word.utf8Start, range.count) == 0
    }
}
