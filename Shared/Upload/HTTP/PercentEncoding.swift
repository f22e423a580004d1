import Files
import Recording

/// Percent-encoding by RFC 3986, as Signature Version 4 requires: encodes everything but letters, digits and `-._~`.
enum PercentEncoding {
    /// Encodes a component of a path or query.
    static func component(_ text: some StringProtocol) -> String { encode(text, keeping: "") }

    /// Encodes a path and keeps its slashes.
    static func path(_ text: some StringProtocol) -> String { encode(text, keeping: "/") }

    /// Decodes a text; `nil` if a `%` is not followed by two hexadecimal digits, or the bytes are not UTF-8.
    static func decoded(_ text: some StringProtocol) -> String? {
        let pieces = text.split(separator: "%", omittingEmptySubsequences: false)
        var bytes = Array((pieces.first ?? "").utf8)
        for piece in pieces.dropFirst() {
            guard piece.count >= 2, let byte = piece.prefix(2).hexBytes else { return nil }
            bytes += byte + piece.dropFirst(2).utf8
        }
        return String(validating: bytes, as: UTF8.self)
    }

    private static func encode(_ text: some StringProtocol, keeping kept: String) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        let unreserved = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~\(kept)".utf8)
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            if unreserved.contains(byte) {
                bytes.append(byte)
            } else {
                bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
