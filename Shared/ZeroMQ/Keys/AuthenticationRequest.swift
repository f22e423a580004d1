/// A client that has presented a key and requests admission.
public struct AuthenticationRequest: Hashable, Sendable {
    /// The peer's address without its port: `192.168.1.7`; empty over ipc.
    public let address: String
    /// The peer's public key; the peer has proved that it has the secret key.
    public let client: CurveKey
}

/// libzmq's request to admit a peer that has finished its side of a handshake (ZAP 1.0, RFC 27).
struct Newcomer {
    /// The number of the socket that the peer connected to.
    let socket: Int
    /// The peer's key and address; nil if the socket requires no key.
    let request: AuthenticationRequest?

    /// Parses the frames after the empty one: version, request id, domain, address, identity, mechanism, credentials.
    /// - Returns: nil if they do not belong to a socket of this program.
    init?(_ frames: ArraySlice<[UInt8]>) {
        let frames = Array(frames)
        guard frames.count >= 6, frames[0] == Self.version, frames[3].count <= Self.longestAddress,
            let address = String(validating: frames[3], as: UTF8.self),
            let domain = String(validating: frames[2], as: UTF8.self), domain.hasPrefix(Self.domain),
            let socket = Int(domain.dropFirst(Self.domain.count))
        else { return nil }
        self.socket = socket
        switch (frames[5], frames.count) {
        case (Array("NULL".utf8), 6): request = nil
        case (Array("CURVE".utf8), 7):
            guard let client = CurveKey(bytes: frames[6]) else { return nil }
            request = AuthenticationRequest(address: address, client: client)
        default: return nil
        }
    }

    /// The domain that identifies a socket to the handler (ZMQ_ZAP_DOMAIN).
    static func domain(ofSocket number: Int) -> String { "\(domain)\(number)" }

    static let version = Array("1.0".utf8)
    private static let domain = "holdfast-"
    /// In bytes; enough for an IPv6 address with its zone.
    private static let longestAddress = 255
}
