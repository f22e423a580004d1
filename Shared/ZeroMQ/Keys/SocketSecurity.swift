/// How a socket's connections over tcp and ipc are protected. What stays inside the process (`inproc`) never is.
public struct SocketSecurity: Hashable, Sendable {
    enum Mechanism: Hashable {
        case plain
        case screened(Authenticator)
        case server(CurveKeyPair, Authenticator)
        case client(CurveKeyPair, server: CurveKey)
    }

    let mechanism: Mechanism

    /// The bytes of the longest command of a handshake, to which libzmq applies the limit for frames too: an INITIATE
    /// has 257, a socket type and an identity of at most 255, each with its name (RFC 26, RFC 23).
    var longestCommand: Int {
        switch mechanism {
        case .plain, .screened: 0
        case .server, .client: 1_024
        }
    }

    /// Whether a peer must show a key.
    package var asksForKeys: Bool { if case .server = mechanism { true } else { false } }

    /// Nothing is encrypted, and whoever connects is served.
    public static let plain = SocketSecurity(mechanism: .plain)

    /// Nothing is encrypted. Every peer is served, unless the context's guard finds the socket full when it connects.
    public static func plain(screenedBy authenticator: Authenticator) -> SocketSecurity {
        SocketSecurity(mechanism: .screened(authenticator))
    }

    /// CURVE (RFC 26), as the side that has a well-known key: it serves whom its authenticator lets in.
    public static func server(_ keys: CurveKeyPair, _ authenticator: Authenticator) -> SocketSecurity {
        SocketSecurity(mechanism: .server(keys, authenticator))
    }

    /// CURVE (RFC 26), as the side that shows who it is, and speaks with nobody but the holder of the server's key.
    public static func client(_ keys: CurveKeyPair, server: CurveKey) -> SocketSecurity {
        SocketSecurity(mechanism: .client(keys, server: server))
    }
}
