/// The memory layout of a Linux IIO channel's samples, as given by its `_type`: `[be|le]:[s|u]bits/storagebits[Xrepeat][>>shift]`
/// (Linux, Documentation/ABI/testing/sysfs-bus-iio, `in_…_type`). `le:s12/16>>4` is 12 bits, signed, at the top of 2 bytes.
package struct IIOChannelType: Hashable, Sendable, CustomStringConvertible {
    package let isBigEndian: Bool
    package let isSigned: Bool
    /// Bits that hold the value.
    package let bits: Int
    /// The bytes of one value: 1, 2, 4 or 8.
    package let bytes: Int
    /// The number of consecutive values: 1, except for a quaternion, for example.
    package let count: Int
    /// The unused bits below the value.
    package let shift: Int

    /// - Throws: `invalidInput` for a text that is not of this form, or has an impossible number.
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

    /// The bytes of the channel in a scan; its offset is a multiple of this.
    package var size: Int { bytes * count }

    /// The kernel's notation.
    package var description: String {
        "\(isBigEndian ? "be" : "le"):\(isSigned ? "s" : "u")\(bits)/\(bytes * 8)\(count > 1 ? "X\(count)" : "")>>\(shift)"
    }

    // MARK: Values

    /// The whole number in `bytes` bytes: swapped, shifted, masked, and then sign-extended.
    /// - Returns: the value's bits; for an unsigned number of 64 bits, those of a `UInt64`.
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

    /// The number before offset and scale.
    package func value(_ raw: some Collection<UInt8>) -> Double {
        let integer = integer(raw)
        return isSigned ? Double(integer) : Double(UInt64(bitPattern: integer))
    }
}
