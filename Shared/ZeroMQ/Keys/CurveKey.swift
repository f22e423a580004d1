import CZeroMQ

/// A Curve25519 key in ZeroMQ's form: 32 bytes, as text 40 characters of Z85 (RFC 32).
public struct CurveKey: Hashable, Sendable {
    static let textLength = 40

    /// The key in Z85.
    public let text: String

    /// Parses a key.
    /// - Returns: nil if the text is not a key.
    public init?(_ text: String) {
        var bytes = [UInt8](repeating: 0, count: 32)
        guard text.utf8.count == Self.textLength, !text.utf8.contains(0), zmq_z85_decode(&bytes, text) != nil else {
            return nil
        }
        self.text = text
    }

    /// Creates a key from an authentication request.
    init?(bytes: [UInt8]) {
        guard bytes.count == 32 else { return nil }
        var text = [CChar](repeating: 0, count: Self.textLength + 1)
        guard zmq_z85_encode(&text, bytes, bytes.count) != nil else { return nil }
        self.text = String(decoding: text.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
