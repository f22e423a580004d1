/// The token in a link that grants a browser access.
package enum WebToken {
    /// The minimum length of a token that a person chose.
    static let leastLength = 16

    /// 128 random bits in hexadecimal.
    package static func make() -> String {
        var generator = SystemRandomNumberGenerator()
        return (0..<2).map { _ in
            let digits = String(generator.next() as UInt64, radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }

    /// Whether the token is long enough, and can be used unescaped in a link and a cookie.
    static func isGood(_ token: String) -> Bool { token.utf8.count >= leastLength && token.utf8.allSatisfy(isPlain) }

    static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}
