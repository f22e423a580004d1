import CZeroMQ

/// Both halves of a key. The secret half proves the identity that the public half names.
public struct CurveKeyPair: Hashable, Sendable, CustomStringConvertible {
    /// The half that may be shared.
    public let publicKey: CurveKey
    /// The half that must stay secret.
    public let secretKey: CurveKey

    /// Generates a pair (zmq_curve_keypair(3)).
    public static func generate() throws(ZeroMQError) -> CurveKeyPair {
        var publicText = [CChar](repeating: 0, count: CurveKey.textLength + 1)
        var secretText = publicText
        guard zmq_curve_keypair(&publicText, &secretText) == 0, let secret = CurveKey(Self.string(secretText)) else {
            throw .last(during: "zmq_curve_keypair")
        }
        return try CurveKeyPair(secretKey: secret)
    }

    /// Derives the pair of a secret key (zmq_curve_public(3)).
    public init(secretKey: CurveKey) throws(ZeroMQError) {
        var text = [CChar](repeating: 0, count: CurveKey.textLength + 1)
        guard zmq_curve_public(&text, secretKey.text) == 0, let publicKey = CurveKey(Self.string(text)) else {
            throw .last(during: "zmq_curve_public")
        }
        self.publicKey = publicKey
        self.secretKey = secretKey
    }

    /// Only the public half, so that the secret one does not get into a log by mistake.
    public var description: String { "key pair of \(publicKey.text)" }

    private static func string(_ text: [CChar]) -> String {
        String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
