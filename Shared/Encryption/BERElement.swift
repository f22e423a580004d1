/// The header of a BER value (X.690): its tag and length.
package struct BERElement {
    let tag: UInt8
    /// The size of tag and length, in bytes.
    let headerLength: Int
    /// The size of the value, in bytes; `nil` if an end-of-contents marker ends it.
    let length: Int?

    package static let sequence: UInt8 = 0x30
    static let set: UInt8 = 0x31
    static let octets: UInt8 = 0x04
    static let constructedOctets: UInt8 = 0x24
    static let integer: UInt8 = 0x02
    static let identifier: UInt8 = 0x06
    /// `[0]`, containing other values.
    static let context0: UInt8 = 0xA0
    /// `[0]` in place of a string's own tag.
    static let primitiveContext0: UInt8 = 0x80
    static let context1: UInt8 = 0xA1

    /// The longest header: a tag, and a length of eight bytes.
    static let maximumHeaderLength = 10

    /// Reads a header; `nil` if there is none, or one that Holdfast's messages never contain.
    init?(_ bytes: some Collection<UInt8>) {
        var rest = bytes[...]
        guard let tag = rest.popFirst(), tag & 0x1F != 0x1F, let first = rest.popFirst() else { return nil }
        self.tag = tag
        guard first & 0x80 != 0 else {
            headerLength = 2
            length = Int(first)
            return
        }
        let digits = Int(first & 0x7F)
        headerLength = 2 + digits
        if digits == 0 {
            length = nil
            return
        }
        guard digits <= 7, rest.count >= digits else { return nil }
        length = rest.prefix(digits).reduce(0) { $0 << 8 | Int($1) }
    }

    /// Whether this is an end-of-contents marker.
    var isEnd: Bool { tag == 0 && length == 0 }

    /// Encodes a value with a definite length.
    static func encoded(_ tag: UInt8, _ value: [UInt8]) -> [UInt8] {
        if value.count < 0x80 { return [tag, UInt8(value.count)] + value }
        var digits: [UInt8] = []
        var rest = value.count
        while rest > 0 {
            digits.insert(UInt8(rest & 0xFF), at: 0)
            rest >>= 8
        }
        return [tag, 0x80 | UInt8(digits.count)] + digits + value
    }
}
