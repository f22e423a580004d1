/// How the samples of a channel of Linux IIO stand in memory, as its `_type` says: `[be|le]:[s|u]bits/storagebits[Xrepeat][>>shift]`
/// (Linux, Documentation/ABI/testing/sysfs-bus-iio, `in_…_type`). `le:s12/16>>4` is 12 bits, with a sign, in the upper bits of 2 bytes.
package struct IIOChannelType: Hashable, Sendable, CustomStringConvertible {
    package let isBigEndian: Bool
    package let isSigned: Bool
    /// Bits that hold the value.
    package let bits: Int
    /// Bytes that one value takes: 1, 2, 4 or 8.
    package let bytes: Int
    /// How many values follow each other: 1, but for a quaternion, say.
    package let count: Int
    /// Bits behind the value.
    package let shift: Int

    /// - Throws: `invalidInput` for a text that is not of this form, or has a number that can't be.
    package init(_ text: String) throws(PublisherError) {
        guard let type = Self.parse(text) else {
            throw PublisherError(
                .invalidInput,
                "'\(text)' is not the type of an IIO channel, such as le:s12/16>>4: is the driver older or newer?")
        }
        self = type
    }

    private init(isBigEndian: Bool, isSigned: Bool, bits: Int, bytes: Int, count: Int, shift: Int) {
        self.isBigEndian = isBigEndian
        self.isSigned = isSigned
        self.bits = bits
        self.bytes = bytes
        self.count = count
        self.shift = shift
    }

    private static func parse(_ text: String) -> IIOChannelType? {
        var rest = text[...]
        let isBigEndian = rest.hasPrefix("be:")
        guard isBigEndian || rest.hasPrefix("le:") else { return nil }
        rest = rest.dropFirst(3)
        guard let sign = rest.popFirst(), sign == "s" || sign == "u" else { return nil }
        guard let bits = number(&rest), skip("/", in: &rest), let storage = number(&rest) else { return nil }
        var (count, shift) = (1, 0)
        if skip("X", in: &rest) {
            guard let repeats = number(&rest) else { return nil }
            count = repeats
        }
        if skip(">>", in: &rest) {
            guard let given = number(&rest) else { return nil }
            shift = given
        }
        guard rest.isEmpty, [8, 16, 32, 64].contains(storage), bits >= 1, count >= 1, count <= 64,
            bits + shift <= storage
        else { return nil }
        return IIOChannelType(
            isBigEndian: isBigEndian, isSigned: sign == "s", bits: bits, bytes: storage / 8, count: count, shift: shift)
    }

    private static func number(_ text: inout Substring) -> Int? {
        let digits = text.prefix { $0.isASCII && $0.isNumber }.prefix(4)
        text = text.dropFirst(digits.count)
        return Int(digits)
    }

    private static func skip(_ word: String, in text: inout Substring) -> Bool {
        guard text.hasPrefix(word) else { return false }
        text = text.dropFirst(word.count)
        return true
    }

    /// Bytes that the channel takes in a scan, to a multiple of which it is aligned.
    package var size: Int { bytes * count }

    /// As the kernel writes it.
    package var description: String {
        "\(isBigEndian ? "be" : "le"):\(isSigned ? "s" : "u")\(bits)/\(bytes * 8)\(count > 1 ? "X\(count)" : "")>>\(shift)"
    }

    // MARK: Values

    /// The whole number in `bytes` bytes: swapped, shifted, masked, and then its sign extended.
    /// - Returns: the value's bits; of an unsigned number of 64 bits they mean a `UInt64`.
    package func integer(_ raw: some Collection<UInt8>) -> Int64 {
        var word: UInt64 = 0
        if isBigEndian {
            for byte in raw { word = word << 8 | UInt64(byte) }
        } else {
            for (place, byte) in raw.enumerated() { word |= UInt64(byte) << (8 * place) }
        }
        word >>= UInt64(shift)
        let unused = UInt64(64 - bits)
        word <<= unused
        return isSigned ? Int64(bitPattern: word) >> Int64(unused) : Int64(bitPattern: word >> unused)
    }

    /// The number as it is scaled.
    package func value(_ raw: some Collection<UInt8>) -> Double {
        let integer = integer(raw)
        return isSigned ? Double(integer) : Double(UInt64(bitPattern: integer))
    }
}
