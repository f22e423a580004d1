/// A growable buffer in which messages and records are formatted, reused from batch to batch.
///
/// Appending allocates only while the buffer grows to the size of its largest batch; `removeAll()` keeps the memory. Pointers
/// lent to a closure are valid only inside it.
///
/// `@unchecked Sendable` because the memory has exactly one owner: the type is not copyable, and lends its pointer only to
/// closures that run while it is borrowed.
public struct ByteBuffer: ~Copyable, @unchecked Sendable {
    @usableFromInline var start: UnsafeMutablePointer<UInt8>
    @usableFromInline var used = 0
    @usableFromInline var room: Int

    /// An empty buffer with room for `capacity` bytes.
    public init(capacity: Int) {
        room = max(capacity, ShortestDecimal.maximumLength)
        start = .allocate(capacity: room)
    }

    deinit {
        start.deallocate()
    }

    /// The number of bytes appended since the last `removeAll()`.
    @inlinable public var count: Int { used }

    /// The number of bytes that the buffer can hold without growing.
    @inlinable public var capacity: Int { room }

    /// Removes all bytes and keeps the memory.
    @inlinable
    public mutating func removeAll() {
        used = 0
    }

    /// Removes all bytes after the first `count`, which must not exceed the current count.
    @inlinable
    public mutating func truncate(to count: Int) {
        precondition(count >= 0 && count <= used, "a buffer is truncated to a length that it has")
        used = count
    }

    /// Makes room for `additional` more bytes, so that appending them allocates nothing.
    @inlinable
    public mutating func reserve(_ additional: Int) {
        if room - used < additional { grow(by: additional) }
    }

    @usableFromInline
    @inline(never)
    mutating func grow(by additional: Int) {
        let larger = max(room * 2, used + additional)
        let moved = UnsafeMutablePointer<UInt8>.allocate(capacity: larger)
        moved.update(from: start, count: used)
        start.deallocate()
        start = moved
        room = larger
    }

    /// Lends the appended bytes.
    @inlinable
    public func withUnsafeBytes<Result: ~Copyable, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(UnsafeRawBufferPointer(start: start, count: used))
    }

    /// Lends the appended bytes for changes in place.
    @inlinable
    public mutating func withUnsafeMutableBytes<Result: ~Copyable, Failure: Error>(
        _ body: (UnsafeMutableRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(UnsafeMutableRawBufferPointer(start: start, count: used))
    }

    /// Lends `count` writable bytes after the end; `body` fills them from the front and returns how many it wrote.
    @inlinable
    public mutating func withUnsafeMutableTail<Failure: Error>(
        reserving count: Int, _ body: (UnsafeMutablePointer<UInt8>) throws(Failure) -> Int
    ) throws(Failure) {
        reserve(count)
        let written = try body(start + used)
        precondition(written >= 0 && written <= room - used, "no more may be written than was reserved")
        used += written
    }

    /// Appends one byte.
    @inlinable
    public mutating func append(_ byte: UInt8) {
        reserve(1)
        start[used] = byte
        used += 1
    }

    /// Appends bytes, which must not be in this buffer.
    @inlinable
    public mutating func append(_ bytes: UnsafeRawBufferPointer) {
        guard let source = bytes.baseAddress else { return }
        reserve(bytes.count)
        UnsafeMutableRawPointer(start + used).copyMemory(from: source, byteCount: bytes.count)
        used += bytes.count
    }

    /// Appends bytes.
    @inlinable
    public mutating func append(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { append($0) }
    }

    /// Appends a text as UTF-8, unescaped.
    public mutating func append(utf8 text: String) {
        var text = text
        text.withUTF8 { append(UnsafeRawBufferPointer($0)) }
    }

    /// Appends the decimal digits of an integer.
    @inlinable
    public mutating func append(_ integer: Int) {
        append(Int64(integer))
    }

    /// Appends the decimal digits of an integer.
    public mutating func append(_ integer: Int64) {
        let longest = 20
        withUnsafeMutableTail(reserving: longest) { text in
            var magnitude = integer.magnitude
            var length = magnitude.decimalDigitCount
            if integer < 0 {
                text[0] = UInt8(ascii: "-")
                length += 1
            }
            var place = length
            repeat {
                place -= 1
                let (rest, digit) = magnitude.quotientAndRemainder(dividingBy: 10)
                text[place] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: digit)
                magnitude = rest
            } while magnitude != 0
            return length
        }
    }

    /// Appends a number as JSON, in `JSONEncoder`'s bytes; the strings `"NaN"`, `"Infinity"` and `"-Infinity"` (quoted) if it
    /// is not finite.
    @inlinable
    public mutating func append(json number: Double) {
        if number.isFinite {
            append(text: number)
        } else {
            append(UInt8(ascii: "\""))
            append(text: number)
            append(UInt8(ascii: "\""))
        }
    }

    /// Appends a number as text for a table: the digits of `append(json:)`, and NaN, Infinity, -Infinity unquoted.
    @inlinable
    public mutating func append(text number: Double) {
        reserve(ShortestDecimal.maximumLength)
        used += ShortestDecimal.write(number, to: start + used)
    }

    /// Appends a JSON string, quoted and escaped as `JSONEncoder` does with `.withoutEscapingSlashes`: short escapes where JSON
    /// has them, `\u00xx` for the other control characters, everything else unescaped.
    public mutating func append(jsonString text: String) {
        var text = text
        append(UInt8(ascii: "\""))
        text.withUTF8 { bytes in
            for byte in bytes {
                switch byte {
                case UInt8(ascii: "\""), UInt8(ascii: "\\"): appendEscape(byte)
                case 0x08: appendEscape(UInt8(ascii: "b"))
                case 0x09: appendEscape(UInt8(ascii: "t"))
                case 0x0A: appendEscape(UInt8(ascii: "n"))
                case 0x0C: appendEscape(UInt8(ascii: "f"))
                case 0x0D: appendEscape(UInt8(ascii: "r"))
                case 0x00..<0x20:
                    append(utf8: byte < 0x10 ? "\\u000" : "\\u001")
                    let digit = byte & 0x0F
                    append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
                default: append(byte)
                }
            }
        }
        append(UInt8(ascii: "\""))
    }

    private mutating func appendEscape(_ letter: UInt8) {
        append(UInt8(ascii: "\\"))
        append(letter)
    }
}

extension UInt64 {
    /// The number of decimal digits; 1 for zero.
    fileprivate var decimalDigitCount: Int {
        var count = 1
        var rest = self
        while rest >= 10 {
            rest /= 10
            count += 1
        }
        return count
    }
}
