/// Bytes of a zip, with little-endian numbers.
struct LittleEndianBytes {
    private let bytes: [UInt8]

    /// `nil` if there are no bytes.
    init?(_ bytes: [UInt8]) {
        if bytes.isEmpty { return nil }
        self.bytes = bytes
    }

    var count: Int { bytes.count }

    /// The number of `length` bytes at an offset. A number that is too large is clamped; one outside the bytes is `Int32.max`.
    func number(_ offset: Int, _ length: Int) -> Int {
        guard offset + length <= bytes.count else { return Int(Int32.max) }
        let number = bytes[offset..<offset + length].reversed().reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
        return Int(clamping: number)
    }
}
