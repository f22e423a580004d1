import Messages

/// A cell of a table, or a value of a JSON object. Valid only during the call that passes it.
enum TableCell {
    case absent
    /// Text, without quotes and escapes.
    case text(UnsafeRawBufferPointer)
    /// JSON other than a text: a number, a word, an array or an object.
    case json(UnsafeRawBufferPointer)

    /// The bytes, if it is not absent.
    var bytes: UnsafeRawBufferPointer? {
        switch self {
        case .absent: nil
        case .text(let bytes), .json(let bytes): bytes
        }
    }

    /// The bytes without the blanks that may be beside a separator: a number, boolean or time does not include them.
    var trimmed: UnsafeRawBufferPointer? {
        guard let bytes else { return nil }
        var rest = bytes[...]
        while rest.first == UInt8(ascii: " ") { rest.removeFirst() }
        while rest.last == UInt8(ascii: " ") { rest.removeLast() }
        return UnsafeRawBufferPointer(rebasing: rest)
    }

    /// Whether this is a number in JSON's notation.
    private static func isPlain(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let first = bytes.first, first > 0x20 else { return false }
        var scanner = JSONScanner(bytes)
        return (try? scanner.skipNumber()) == 0..<bytes.count
    }

    /// A number, including notations that JSON does not have: +1, .5 and nan.
    private static func number(_ bytes: UnsafeRawBufferPointer) -> Double? {
        DecimalParser.parse(bytes) ?? word(bytes)
    }

    private static func word(_ bytes: UnsafeRawBufferPointer) -> Double? {
        switch String(decoding: bytes.prefix(9), as: UTF8.self).lowercased() {
        case "nan": .nan
        case "inf", "+inf", "infinity": .infinity
        case "-inf", "-infinity": -.infinity
        default: nil
        }
    }

    private static func boolean(_ bytes: UnsafeRawBufferPointer) -> String? {
        switch String(decoding: bytes.prefix(6), as: UTF8.self).lowercased() {
        case "true": "true"
        case "false": "false"
        default: nil
        }
    }

    private static func isNull(_ bytes: UnsafeRawBufferPointer) -> Bool { bytes.elementsEqual("null".utf8) }

    /// The type of a column whose cells are all like this one; nil if the cell does not show it.
    var kind: FieldType? {
        guard let bytes = trimmed, !bytes.isEmpty else { return nil }
        if Self.isPlain(bytes) || Self.number(bytes) != nil { return .number }
        if Self.boolean(bytes) != nil { return .boolean }
        guard case .json = self else { return .text }
        return Self.isNull(bytes) ? nil : .json
    }

    /// Appends the cell as JSON of its column's type.
    func append(to buffer: inout [UInt8], as type: FieldType) {
        guard let bytes, let trimmed else { return buffer.append(contentsOf: "null".utf8) }
        var isJSON = false
        if case .json = self { isJSON = true }
        switch type {
        case .number:
            if Self.isPlain(trimmed) { return buffer.append(contentsOf: trimmed) }
            guard let number = Self.number(trimmed) else { return buffer.append(contentsOf: "null".utf8) }
            var digits = ByteBuffer(capacity: ShortestDecimal.maximumLength)
            digits.append(json: number)
            digits.withUnsafeBytes { buffer.append(contentsOf: $0) }
        case .boolean: buffer.append(contentsOf: (Self.boolean(trimmed) ?? "null").utf8)
        case .json where isJSON: buffer.append(contentsOf: bytes)
        case _ where isJSON && Self.isNull(bytes): buffer.append(contentsOf: bytes)
        default:
            var text = ByteBuffer(capacity: bytes.count + 2)
            text.append(jsonString: String(decoding: bytes, as: UTF8.self))
            text.withUnsafeBytes { buffer.append(contentsOf: $0) }
        }
    }
}
