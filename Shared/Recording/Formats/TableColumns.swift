import Messages

/// The columns of a table, and their places in a row.
///
/// Keeps the memory for a row's fields, so that reading rows does not allocate.
struct TableColumns {
    private let count: Int
    private let sensorType: Int
    private let marker: Int
    private let device: Int?
    /// The last column of a stream of records: the types of the samples' own columns.
    private let types: Int?
    /// The samples' own columns.
    private let own: Range<Int>
    private var fields: [Range<Int>]

    init(_ names: [String]) {
        count = names.count
        let sensorType = names.firstIndex(of: "sensorType") ?? -1
        self.sensorType = sensorType
        let marker = names.firstIndex(of: "marker") ?? -1
        self.marker = marker
        device = names.lastIndex(of: "device").flatMap { $0 > marker ? $0 : nil }
        types = names.last == "types" ? names.count - 1 : nil
        own = sensorType + 1..<max(sensorType + 1, names.firstIndex(of: "timestampDate") ?? names.count)
        fields = [Range<Int>](repeating: 0..<0, count: names.count)
    }

    /// Reads a line feed and a row at a place in a table.
    ///
    /// - Parameters:
    ///   - place: the end of the previous row or of the header.
    ///   - types: the types of the samples' own columns in a stream of records, if known.
    mutating func look(
        _ bytes: UnsafeRawBufferPointer, at place: Int, format: LogFormat, isLast: Bool, types: [FieldType]?
    ) -> LogScanner.Finding<LogScanner.Record> {
        guard place < bytes.count else { return isLast ? .none : .more }
        guard bytes[place] == UInt8(ascii: "\n"), sensorType >= 0, marker >= 0 else { return .none }
        var walk = Walk(index: place + 1, delimiter: format.delimiter, isLast: isLast)
        var column = 0
        repeat {
            guard column < count else { return .none }
            guard let field = walk.field(of: bytes) else { return walk.isTooShort ? .more : .none }
            fields[column] = field
            column += 1
        } while !walk.isAtRowEnd
        guard column == count else { return .none }
        let row = (place + 1)..<walk.index
        if walk.hasOtherThanASCII, String(validating: bytes[row], as: UTF8.self) == nil { return .none }

        if fields[sensorType].isEmpty {
            guard !fields[marker].isEmpty else { return .none }
            let describes = device.map { !fields[$0].isEmpty } ?? false
            // The rate is the last column, or the one before the types; only a marker that describes the stream has one.
            let rate = UnsafeRawBufferPointer(rebasing: bytes[fields[(self.types ?? count) - 1]])
            guard device == nil || rate.isEmpty || describes && LogScanner.number(rate) != nil else { return .none }
            if let types = self.types, !describes, !fields[types].isEmpty { return .none }
            return .whole(
                LogScanner.Record(
                    isSample: false, bytes: row, uptime: fields[0], isProven: !describes,
                    types: describes ? self.types.map { fields[$0] } : nil))
        }
        for column in 0..<count {
            if column < 2 || own.contains(column) {
                let text = UnsafeRawBufferPointer(rebasing: bytes[fields[column]])
                guard text.isEmpty || Self.accepts(text, as: type(ofColumn: column, types)) else { return .none }
            } else if column > sensorType, !fields[column].isEmpty {
                return .none
            }
        }
        return .whole(LogScanner.Record(isSample: true, bytes: row, uptime: fields[0], isProven: true))
    }

    /// The type of a sample's column: text if it is unknown; nil in a stream of numbers.
    @inline(__always)
    private func type(ofColumn column: Int, _ types: [FieldType]?) -> FieldType? {
        if column < 2 || self.types == nil { return nil }
        guard let types, column - own.lowerBound < types.count else { return .text }
        return types[column - own.lowerBound]
    }

    /// - Parameter type: nil for a column of a stream of numbers.
    @inline(__always)
    private static func accepts(_ field: UnsafeRawBufferPointer, as type: FieldType?) -> Bool {
        guard let type else { return LogScanner.number(field) != nil }
        return switch type {
        case .number: LogScanner.number(field) != nil
        case .boolean: field.elementsEqual("true".utf8) || field.elementsEqual("false".utf8)
        case .text, .date: true
        default: Array(TableText.unquoted(field).utf8).withUnsafeBytes(JSONScanner.isValid)
        }
    }

    /// The texts of a row's fields, and the end of the row.
    static func texts(
        _ bytes: UnsafeRawBufferPointer, format: LogFormat, isLast: Bool
    ) -> LogScanner.Finding<(end: Int, columns: [String])> {
        var walk = Walk(index: 0, delimiter: format.delimiter, isLast: isLast)
        var texts: [String] = []
        repeat {
            guard let field = walk.field(of: bytes) else { return walk.isTooShort ? .more : .none }
            texts.append(TableText.unquoted(UnsafeRawBufferPointer(rebasing: bytes[field])))
        } while !walk.isAtRowEnd
        return .whole((walk.index, texts))
    }

    /// Steps from field to field, as RFC 4180 defines them.
    private struct Walk {
        /// The next byte: after a field, the one behind its delimiter, or the row's end.
        var index: Int
        let delimiter: UInt8
        let isLast: Bool
        var isAtRowEnd = false
        /// Whether more bytes are needed to decide.
        var isTooShort = false
        var hasOtherThanASCII = false

        /// Steps over the next field, and the delimiter behind it.
        ///
        /// - Returns: the field's range, including its quotes; `nil` if the field is malformed or incomplete.
        @inline(__always)
        mutating func field(of bytes: UnsafeRawBufferPointer) -> Range<Int>? {
            let start = index
            if index < bytes.count, bytes[index] == UInt8(ascii: "\"") {
                guard skipQuoted(bytes) else { return nil }
            } else {
                while index < bytes.count {
                    let byte = bytes[index]
                    if byte == delimiter || byte == UInt8(ascii: "\n") || byte == 0 { break }
                    // Both may occur in quotes only, and quotes enclose a whole field.
                    if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\r") { return nil }
                    if byte >= 0x80 { hasOtherThanASCII = true }
                    index += 1
                }
            }
            let end = index
            guard index < bytes.count else {
                isTooShort = !isLast
                isAtRowEnd = true
                return isLast ? start..<end : nil
            }
            if bytes[index] == delimiter {
                index += 1
            } else {
                // A power cut leaves zeros if nothing was written yet.
                guard bytes[index] == UInt8(ascii: "\n") || bytes[index] == 0 else { return nil }
                isAtRowEnd = true
            }
            return start..<end
        }

        /// Steps over a field in quotes, in which two quotes mean one.
        private mutating func skipQuoted(_ bytes: UnsafeRawBufferPointer) -> Bool {
            index += 1
            while index < bytes.count {
                let byte = bytes[index]
                index += 1
                if byte == 0 { return false }
                if byte >= 0x80 { hasOtherThanASCII = true }
                if byte == UInt8(ascii: "\"") {
                    guard index < bytes.count, bytes[index] == UInt8(ascii: "\"") else { return true }
                    index += 1
                }
            }
            isTooShort = !isLast
            return false
        }
    }
}
