import Crypto

extension Digest {
    /// Two lower-case hexadecimal digits per byte.
    var hexDigits: String { map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() }
}
