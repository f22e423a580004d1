/// Finds the parts of a JSON text in place: the range of each value, without building anything.
///
/// Strict (RFC 8259): one value of at most 32 nested arrays and objects, UTF-8 throughout, no lone surrogates, no trailing
/// commas, no blanks except JSON's four. Holds the pointer that it was created with, so use it inside the closure that lends
/// the bytes. Offsets count from the start of those bytes.
public struct JSONScanner {
    /// The maximum nesting of arrays and objects.
    public static let maximumDepth = 32

    /// The text.
    public let bytes: UnsafeRawBufferPointer
    /// The offset of the next unread byte.
    public internal(set) var index: Int
    private let end: Int

    /// Creates a scanner of a whole text, or of the part in `range`, which must lie within the text.
    public init(_ bytes: UnsafeRawBufferPointer, in range: Range<Int>? = nil) {
        let range = range ?? 0..<bytes.count
        precondition(range.lowerBound >= 0 && range.upperBound <= bytes.count, "a part lies within its text")
        self.bytes = bytes
        index = range.lowerBound
        end = range.upperBound
    }

    /// Whether the bytes are one JSON value, with nothing but blanks around it.
    public static func isValid(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var scanner = JSONScanner(bytes)
        do {
            try scanner.skipValue()
            try scanner.finish()
            return true
        } catch {
            return false
        }
    }

    /// The next byte that is not blank, without stepping over it; nil at the end.
    @inline(__always)
    public mutating func peek() -> UInt8? {
        while index < end {
            let byte = bytes[index]
            // One comparison in the usual case of no blank.
            if byte > 0x20 { return byte }
            guard byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 else { return byte }
            index += 1
        }
        return nil
    }

    /// Steps over `byte`, and blanks before it, if it comes next; returns whether it did.
    @inline(__always)
    public mutating func skip(_ byte: UInt8) -> Bool {
        guard peek() == byte else { return false }
        index += 1
        return true
    }

    /// Steps over `byte`, and blanks before it, which must come next.
    /// - Throws: `malformed` if another byte comes next.
    @inline(__always)
    public mutating func expect(_ byte: UInt8) throws(MessageError) {
        guard skip(byte) else { throw malformed("\(Character(Unicode.Scalar(byte))) was expected") }
    }

    /// Checks that only blanks are left.
    /// - Throws: `malformed` if anything else is left.
    public mutating func finish() throws(MessageError) {
        guard peek() == nil else { throw malformed("the JSON value was expected to end") }
    }

    /// Steps over the next value of any type, and returns its range.
    @discardableResult
    public mutating func skipValue() throws(MessageError) -> Range<Int> {
        try skipValue(depth: 0)
    }

    /// Steps over the next value, which may have at most `maximum` nested arrays and objects, and returns its range.
    @discardableResult
    public mutating func skipValue(ofDepth maximum: Int) throws(MessageError) -> Range<Int> {
        try skipValue(depth: Self.maximumDepth - maximum)
    }

    private mutating func skipValue(depth: Int) throws(MessageError) -> Range<Int> {
        guard let byte = peek() else { throw malformed("a value was expected") }
        let start = index
        switch byte {
        case UInt8(ascii: "\""): return try skipString()
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            guard depth < Self.maximumDepth else { throw malformed("arrays and objects are nested too deep") }
            index += 1
            let isObject = byte == UInt8(ascii: "{")
            let close = isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")
            if !skip(close) {
                repeat {
                    if isObject {
                        try skipString()
                        try expect(UInt8(ascii: ":"))
                    }
                    _ = try skipValue(depth: depth + 1)
                } while skip(UInt8(ascii: ","))
                try expect(close)
            }
        case UInt8(ascii: "t"): try skipWord("true")
        case UInt8(ascii: "f"): try skipWord("false")
        case UInt8(ascii: "n"): try skipWord("null")
        default: return try skipNumber()
        }
        return start..<index
    }

    /// Steps over a literal name of JSON, which must come next.
    public mutating func skipWord(_ word: StaticString) throws(MessageError) {
        let matches = word.withUTF8Buffer { word in
            end - index >= word.count && word.indices.allSatisfy { bytes[index + $0] == word[$0] }
        }
        guard matches else { throw malformed("\(word) was expected") }
        index += word.utf8CodeUnitCount
    }

    /// Steps over a string, which must come next, and returns its range, including the quotes.
    @discardableResult
    @inline(__always)
    public mutating func skipString() throws(MessageError) -> Range<Int> {
        guard peek() == UInt8(ascii: "\"") else { throw malformed("a string was expected") }
        let start = index
        index += 1
        while true {
            skipPlainCharacters()
            guard index < end else { throw malformed("a string does not end") }
            if bytes[index] == UInt8(ascii: "\"") {
                index += 1
                return start..<index
            }
            try skipSpecialCharacter()
        }
    }

    /// Steps to the next quote, backslash, control character or non-ASCII byte, eight bytes at a time.
    @inline(__always)
    private mutating func skipPlainCharacters() {
        var place = index
        defer { index = place }
        while end - place >= 8 {
            let word = loadWord(at: place)
            let quote = word ^ 0x2222_2222_2222_2222
            let backslash = word ^ 0x5C5C_5C5C_5C5C_5C5C
            let ones: UInt64 = 0x0101_0101_0101_0101
            // A subtraction borrows from the next byte only after a hit, and only the first hit counts.
            let hits =
                (quote &- ones) & ~quote | (backslash &- ones) & ~backslash | (word &- 0x20 &* ones) & ~word | word
            let tops = hits & 0x8080_8080_8080_8080
            if tops != 0 {
                place += tops.trailingZeroBitCount >> 3
                return
            }
            place += 8
        }
        while place < end {
            let byte = bytes[place]
            if byte < 0x20 || byte >= 0x80 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { return }
            place += 1
        }
    }

    @inline(__always)
    private func loadWord(at place: Int) -> UInt64 {
        UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self))
    }

    @inline(never)
    private mutating func skipSpecialCharacter() throws(MessageError) {
        let byte = bytes[index]
        if byte == UInt8(ascii: "\\") { return try skipEscape() }
        guard byte >= 0x80 else { throw malformed("a string contains a control character") }
        // The well-formed sequences of the Unicode Standard, table 3-7.
        let second: ClosedRange<UInt8>
        let length: Int
        switch byte {
        case 0xC2...0xDF: (length, second) = (2, 0x80...0xBF)
        case 0xE0: (length, second) = (3, 0xA0...0xBF)
        case 0xED: (length, second) = (3, 0x80...0x9F)
        case 0xE1...0xEF: (length, second) = (3, 0x80...0xBF)
        case 0xF0: (length, second) = (4, 0x90...0xBF)
        case 0xF1...0xF3: (length, second) = (4, 0x80...0xBF)
        case 0xF4: (length, second) = (4, 0x80...0x8F)
        default: throw malformed("a string is not UTF-8")
        }
        guard end - index >= length, second.contains(bytes[index + 1]),
            (2..<max(2, length)).allSatisfy({ bytes[index + $0] & 0xC0 == 0x80 })
        else { throw malformed("a string is not UTF-8") }
        index += length
    }

    private mutating func skipEscape() throws(MessageError) {
        guard end - index >= 2 else { throw malformed("a string does not end") }
        let letter = bytes[index + 1]
        if letter != UInt8(ascii: "u") {
            guard Self.unescaped(letter) != nil else { throw malformed("a string has an unknown escape") }
            index += 2
            return
        }
        let unit = try codeUnit(at: index)
        if UTF16.isTrailSurrogate(unit) { throw malformed("a string has half of a surrogate pair") }
        index += 6
        guard UTF16.isLeadSurrogate(unit) else { return }
        guard end - index >= 2, bytes[index] == UInt8(ascii: "\\"), bytes[index + 1] == UInt8(ascii: "u"),
            try UTF16.isTrailSurrogate(codeUnit(at: index))
        else { throw malformed("a string has half of a surrogate pair") }
        index += 6
    }

    /// The code unit of the `\uXXXX` at `place`.
    private func codeUnit(at place: Int) throws(MessageError) -> UInt16 {
        var unit: UInt16 = 0
        for place in (place + 2)..<(place + 6) {
            guard place < end, let digit = Self.hexadecimalDigit(bytes[place]) else {
                throw malformed("a string has an escape without four hexadecimal digits")
            }
            unit = unit << 4 | UInt16(digit)
        }
        return unit
    }

    private static func hexadecimalDigit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    /// The character that a backslash and this letter stand for; nil for `u` and for letters that are no escape.
    private static func unescaped(_ letter: UInt8) -> UInt8? {
        switch letter {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): letter
        case UInt8(ascii: "b"): 0x08
        case UInt8(ascii: "f"): 0x0C
        case UInt8(ascii: "n"): 0x0A
        case UInt8(ascii: "r"): 0x0D
        case UInt8(ascii: "t"): 0x09
        default: nil
        }
    }

    /// Steps over a number, which must come next, and returns its range.
    @discardableResult
    @inline(__always)
    public mutating func skipNumber() throws(MessageError) -> Range<Int> {
        guard let byte = peek() else { throw malformed("a number was expected") }
        let start = index
        if byte == UInt8(ascii: "-") { index += 1 }
        let integerStart = index
        skipDigits()
        let integerCount = index - integerStart
        guard integerCount > 0 else { throw malformed("a value was expected") }
        guard integerCount == 1 || bytes[integerStart] != UInt8(ascii: "0") else {
            throw malformed("a number begins with a zero")
        }
        if index < end, bytes[index] == UInt8(ascii: ".") {
            index += 1
            let decimalStart = index
            skipDigits()
            guard index > decimalStart else { throw malformed("a number has no digit after its point") }
        }
        if index < end, bytes[index] | 0x20 == UInt8(ascii: "e") { try skipExponent() }
        return start..<index
    }

    @inline(never)
    private mutating func skipExponent() throws(MessageError) {
        index += 1
        if index < end, bytes[index] == UInt8(ascii: "-") || bytes[index] == UInt8(ascii: "+") { index += 1 }
        let start = index
        skipDigits()
        guard index > start else { throw malformed("a number has no digit in its exponent") }
    }

    /// Steps over decimal digits, eight at a time.
    @inline(__always)
    private mutating func skipDigits() {
        var place = index
        defer { index = place }
        while end - place >= 8 {
            // A digit has become 0...9; the addition sets the top bit of every other byte, and never carries into the next
            // byte.
            let word = loadWord(at: place) ^ 0x3030_3030_3030_3030
            let others = ((word & 0x7F7F_7F7F_7F7F_7F7F) &+ 0x7676_7676_7676_7676 | word) & 0x8080_8080_8080_8080
            if others != 0 {
                place += others.trailingZeroBitCount >> 3
                return
            }
            place += 8
        }
        while place < end, bytes[place] &- UInt8(ascii: "0") < 10 { place += 1 }
    }

    /// Steps over an array by counting brackets, and returns its range. The bytes between them are unchecked: the reader of the
    /// array must check them, and then also notices if a bracket in a string misled the count.
    mutating func skipBrackets() throws(MessageError) -> Range<Int> {
        guard peek() == UInt8(ascii: "[") else { throw malformed("an array was expected") }
        let start = index
        var depth = 0
        var place = index
        while end - place >= 32 {
            // "[" and "]" differ in two bits; with these set, both become "_". ("Y" and "_" do, too.)
            let block = bytes.loadUnaligned(fromByteOffset: place, as: SIMD4<UInt64>.self)
            let words = (block | 0x0606_0606_0606_0606) ^ 0x5F5F_5F5F_5F5F_5F5F
            let others = (words & 0x7F7F_7F7F_7F7F_7F7F) &+ 0x7F7F_7F7F_7F7F_7F7F | words
            let hits = ~others & 0x8080_8080_8080_8080
            if hits != .zero {
                for lane in 0..<4 {
                    var rest = UInt64(littleEndian: hits[lane])
                    while rest != 0 {
                        let hit = place + lane * 8 + rest.trailingZeroBitCount >> 3
                        if closesArray(bytes[hit], depth: &depth) {
                            index = hit + 1
                            return start..<index
                        }
                        rest &= rest - 1
                    }
                }
            }
            place += 32
        }
        while place < end {
            place += 1
            if closesArray(bytes[place - 1], depth: &depth) {
                index = place
                return start..<index
            }
        }
        throw malformed("an array does not end")
    }

    /// Counts a bracket; returns true if it closes the outermost array.
    @inline(__always)
    private func closesArray(_ byte: UInt8, depth: inout Int) -> Bool {
        if byte == UInt8(ascii: "[") { depth += 1 }
        guard byte == UInt8(ascii: "]") else { return false }
        depth -= 1
        return depth == 0
    }

    /// Steps over a whole number of at least 0, which must come next, and returns it.
    ///
    /// - Parameter name: the field's name in errors.
    public mutating func skipCount(_ name: StaticString) throws(MessageError) -> Int {
        guard let byte = peek() else { throw malformed("a number was expected") }
        guard byte == UInt8(ascii: "-") || byte &- UInt8(ascii: "0") < 10 else {
            throw MessageError(.wrongType, "\"\(name)\" must be a whole number")
        }
        let token = try skipNumber()
        guard byte != UInt8(ascii: "-") else { throw MessageError(.outOfRange, "\"\(name)\" must not be negative") }
        var number = 0
        for place in token {
            let digit = bytes[place] &- UInt8(ascii: "0")
            guard digit < 10 else { throw MessageError(.wrongType, "\"\(name)\" must be a whole number") }
            let (tenfold, overflow) = number.multipliedReportingOverflow(by: 10)
            let (sum, carry) = tenfold.addingReportingOverflow(Int(digit))
            guard !overflow, !carry else { throw MessageError(.outOfRange, "\"\(name)\" is too large a number") }
            number = sum
        }
        return number
    }

    /// The text of a string that a scanner has stepped over.
    ///
    /// - Parameter token: the string's range in `bytes`, including the quotes, as `skipString()` returned it.
    public static func string(at token: Range<Int>, in bytes: UnsafeRawBufferPointer) -> String {
        let content = UnsafeRawBufferPointer(rebasing: bytes[(token.lowerBound + 1)..<(token.upperBound - 1)])
        guard content.contains(UInt8(ascii: "\\")) else { return String(decoding: content, as: UTF8.self) }

        var text: [UInt8] = []
        var units: [UInt16] = []
        var scanner = JSONScanner(content)
        while scanner.index < scanner.end {
            let byte = content[scanner.index]
            if byte == UInt8(ascii: "\\"), scanner.index + 1 < scanner.end {
                if let character = unescaped(content[scanner.index + 1]) {
                    text.append(character)
                    scanner.index += 2
                    continue
                }
                if let unit = try? scanner.codeUnit(at: scanner.index) {
                    units.append(unit)
                    scanner.index += 6
                    if !UTF16.isLeadSurrogate(unit) {
                        text.append(contentsOf: String(decoding: units, as: UTF16.self).utf8)
                        units.removeAll()
                    }
                    continue
                }
            }
            text.append(byte)
            scanner.index += 1
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// A valid JSON value without insignificant blanks.
    public static func withoutBlanks(_ value: UnsafeRawBufferPointer) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(value.count)
        var isInString = false
        var isEscaped = false
        for byte in value {
            if isInString {
                if !isEscaped, byte == UInt8(ascii: "\"") { isInString = false }
                isEscaped = !isEscaped && byte == UInt8(ascii: "\\")
            } else if byte == UInt8(ascii: "\"") {
                isInString = true
            } else if byte <= 0x20 {
                continue
            }
            result.append(byte)
        }
        return result
    }

    /// An error with its position, the current index.
    @inline(never)
    func malformed(_ what: String) -> MessageError {
        MessageError(.malformed, "malformed JSON at byte \(index): \(what)")
    }
}
