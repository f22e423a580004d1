/// A JSON value, read by the laboratory's own parser: the programs' output must be valid for readers that share no code with
/// them.
///
/// Strictly RFC 8259: no comments, no trailing commas, no leading zeros, nothing after the value.
enum StrictJSON: Hashable, Sendable {
    case null
    case bool(Bool)
    case number(Double)
    case string(String)
    case array([StrictJSON])
    /// The members in their order; a repeated key is an error.
    case object([Member])

    struct Member: Hashable, Sendable {
        let key: String
        let value: StrictJSON
    }

    /// The place where a text is not valid JSON.
    struct Fault: Error, CustomStringConvertible {
        let offset: Int
        let reason: String

        var description: String { "\(reason) at byte \(offset)" }
    }

    init(_ bytes: some Sequence<UInt8>) throws(Fault) {
        var parser = Parser(bytes: Array(bytes))
        parser.skipSpace()
        self = try parser.value(depth: 0)
        parser.skipSpace()
        if parser.index < parser.bytes.count { throw parser.fault("something stands behind the value") }
    }

    subscript(_ key: String) -> StrictJSON? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.key == key }?.value
    }

    var string: String? { if case .string(let text) = self { text } else { nil } }
    var number: Double? { if case .number(let number) = self { number } else { nil } }
    var integer: Int? { number.flatMap(Int.init(exactly:)) }
    var bool: Bool? { if case .bool(let bool) = self { bool } else { nil } }
    var array: [StrictJSON]? { if case .array(let values) = self { values } else { nil } }
    var object: [Member]? { if case .object(let members) = self { members } else { nil } }

    private struct Parser {
        let bytes: [UInt8]
        var index = 0

        func fault(_ reason: String) -> Fault { Fault(offset: index, reason: reason) }

        private var byte: UInt8? { index < bytes.count ? bytes[index] : nil }

        mutating func skipSpace() {
            while let byte, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { index += 1 }
        }

        private mutating func expect(_ character: UInt8) throws(Fault) {
            guard byte == character else { throw fault("'\(Unicode.Scalar(character))' is missing") }
            index += 1
        }

        private mutating func skip(_ character: UInt8) -> Bool {
            guard byte == character else { return false }
            index += 1
            return true
        }

        mutating func value(depth: Int) throws(Fault) -> StrictJSON {
            guard depth < 64 else { throw fault("values lie too deep") }
            switch byte {
            case UInt8(ascii: "{"): return .object(try members(depth: depth))
            case UInt8(ascii: "["): return .array(try elements(depth: depth))
            case UInt8(ascii: "\""): return .string(try string())
            case UInt8(ascii: "t"): return try word("true", .bool(true))
            case UInt8(ascii: "f"): return try word("false", .bool(false))
            case UInt8(ascii: "n"): return try word("null", .null)
            case nil: throw fault("the text ends")
            default: return .number(try number())
            }
        }

        private mutating func word(_ word: String, _ value: StrictJSON) throws(Fault) -> StrictJSON {
            for character in word.utf8 { try expect(character) }
            return value
        }

        private mutating func members(depth: Int) throws(Fault) -> [Member] {
            try expect(UInt8(ascii: "{"))
            var members: [Member] = []
            members.reserveCapacity(8)
            skipSpace()
            if skip(UInt8(ascii: "}")) { return members }
            repeat {
                skipSpace()
                let key = try string()
                guard !members.contains(where: { $0.key == key }) else { throw fault("\"\(key)\" is there twice") }
                skipSpace()
                try expect(UInt8(ascii: ":"))
                skipSpace()
                members.append(Member(key: key, value: try value(depth: depth + 1)))
                skipSpace()
            } while skip(UInt8(ascii: ","))
            try expect(UInt8(ascii: "}"))
            return members
        }

        private mutating func elements(depth: Int) throws(Fault) -> [StrictJSON] {
            try expect(UInt8(ascii: "["))
            var elements: [StrictJSON] = []
            skipSpace()
            if skip(UInt8(ascii: "]")) { return elements }
            repeat {
                skipSpace()
                elements.append(try value(depth: depth + 1))
                skipSpace()
            } while skip(UInt8(ascii: ","))
            try expect(UInt8(ascii: "]"))
            return elements
        }

        private mutating func string() throws(Fault) -> String {
            try expect(UInt8(ascii: "\""))
            let start = index
            while let byte, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\"), byte >= 0x20 { index += 1 }
            var text = try text(start..<index)
            while let byte, byte != UInt8(ascii: "\"") {
                guard byte >= 0x20 else { throw fault("a string contains a control character") }
                if byte == UInt8(ascii: "\\") {
                    text.unicodeScalars.append(try escape())
                } else {
                    let start = index
                    while let byte = self.byte, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\"), byte >= 0x20 {
                        index += 1
                    }
                    text += try self.text(start..<index)
                }
            }
            try expect(UInt8(ascii: "\""))
            return text
        }

        private func text(_ range: Range<Int>) throws(Fault) -> String {
            guard let text = String(validating: bytes[range], as: UTF8.self) else {
                throw fault("a string is not UTF-8")
            }
            return text
        }

        private mutating func escape() throws(Fault) -> Unicode.Scalar {
            try expect(UInt8(ascii: "\\"))
            guard let byte else { throw fault("the text ends") }
            index += 1
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(byte)
            case UInt8(ascii: "b"): return "\u{8}"
            case UInt8(ascii: "f"): return "\u{C}"
            case UInt8(ascii: "n"): return "\n"
            case UInt8(ascii: "r"): return "\r"
            case UInt8(ascii: "t"): return "\t"
            case UInt8(ascii: "u"):
                var unit = try hexadecimal()
                if unit & 0xFC00 == 0xD800 {
                    try expect(UInt8(ascii: "\\"))
                    try expect(UInt8(ascii: "u"))
                    let low = try hexadecimal()
                    guard low & 0xFC00 == 0xDC00 else { throw fault("half of a character") }
                    unit = 0x10000 + (unit & 0x3FF) << 10 + (low & 0x3FF)
                }
                guard let scalar = Unicode.Scalar(unit) else { throw fault("half of a character") }
                return scalar
            default: throw fault("an unknown escape")
            }
        }

        private mutating func hexadecimal() throws(Fault) -> UInt32 {
            guard index + 4 <= bytes.count,
                let unit = UInt32(String(decoding: bytes[index..<index + 4], as: UTF8.self), radix: 16)
            else { throw fault("four hexadecimal digits are missing") }
            index += 4
            return unit
        }

        private mutating func number() throws(Fault) -> Double {
            let start = index
            _ = skip(UInt8(ascii: "-"))
            if !skip(UInt8(ascii: "0")) { try digits() }
            if skip(UInt8(ascii: ".")) { try digits() }
            if skip(UInt8(ascii: "e")) || skip(UInt8(ascii: "E")) {
                if !skip(UInt8(ascii: "-")) { _ = skip(UInt8(ascii: "+")) }
                try digits()
            }
            guard let number = Double(String(decoding: bytes[start..<index], as: UTF8.self)) else {
                throw fault("not a number")
            }
            return number
        }

        private mutating func digits() throws(Fault) {
            let start = index
            while let byte, byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") { index += 1 }
            if index == start { throw fault("a value is missing") }
        }
    }
}
