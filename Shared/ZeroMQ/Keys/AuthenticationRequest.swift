/// What libzmq asks when a peer has finished its side of a handshake: may this one in? (ZAP 1.0, RFC 27)
public struct AuthenticationRequest: Hashable, Sendable {
    /// The peer's address without its port: `192.168.1.7`; empty over ipc.
    public let address: String
    /// The peer's public key: it has shown that it has the secret one.
    public let client: CurveKey

    /// Reads the frames after the empty one: version, request id, domain, address, identity, mechanism, credentials.
    /// - Returns: nil if they are none of a CURVE server of ours.
    init?(_ frames: ArraySlice<[UInt8]>) {
        let frames = Array(frames)
        guard frames.count == 7, frames[0] == Self.version, frames[2] == Array(Authenticator.domain.utf8),
            frames[3].count <= Self.longestAddress, let address = String(validating: frames[3], as: UTF8.self),
            frames[5] == Array("CURVE".utf8), let client = CurveKey(bytes: frames[6])
        else { return nil }
        self.address = address
        self.client = client
    }

    static let version = Array("1.0".utf8)
    /// That of an IPv6 address with its zone, and more.
    private static let longestAddress = 255
}
