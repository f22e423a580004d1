/// Bytes of a zip, with numbers in them whose least byte comes first.
struct LittleEndianBytes {
    private let bytes: [UInt8]

    /// `nil` if there are none.
    init?(_ bytes: [UInt8]) {
        if bytes.isEmpty { return nil }
        self.bytes = bytes
    }

    var count: Int { bytes.count }

    /// The number of so many bytes at an offset; one that does not fit, or is not there, is as large as can be.
    func number(_ offset: Int, _ length: Int) -> Int {
        guard offset + length <= bytes.count else { return Int(Int32.max) }
        let number = bytes[offset..<offset + length].reversed().reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
        return Int(clamping: number)
    }
}
