import Files
import Recording

/// Percent-encoding as RFC 3986 has it and Signature Version 4 demands it: everything but letters, digits and `-._~`.
enum PercentEncoding {
    /// One part of a path or a query.
    static func component(_ text: some StringProtocol) -> String { encode(text, keeping: "") }

    /// A path, whose slashes stay.
    static func path(_ text: some StringProtocol) -> String { encode(text, keeping: "/") }

    /// What was encoded; `nil` if a `%` begins no two digits, or the bytes are no text.
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
