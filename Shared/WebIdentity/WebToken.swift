/// What a link has that lets a browser in.
package enum WebToken {
    /// Characters of a token that a person chose, at least.
    static let leastLength = 16

    /// 128 random bits as text.
    package static func make() -> String {
        var generator = SystemRandomNumberGenerator()
        return (0..<2).map { _ in
            let digits = String(generator.next() as UInt64, radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }

    /// Whether it is long enough, and may be in a link and a cookie as it is.
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
