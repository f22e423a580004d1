/// The protection of a socket's connections over tcp and ipc. In-process connections (`inproc`) are never protected.
public struct SocketSecurity: Hashable, Sendable {
    enum Mechanism: Hashable {
        case plain
        case screened(Authenticator)
        case server(CurveKeyPair, Authenticator)
        case client(CurveKeyPair, server: CurveKey)
    }

    let mechanism: Mechanism

    /// The maximum length in bytes of a handshake's command, to which libzmq also applies the limit for frames: an INITIATE has
    /// 257, a socket type and an identity of at most 255, each with its name (RFC 26, RFC 23).
    var longestCommand: Int {
        switch mechanism {
        case .plain, .screened: 0
        case .server, .client: 1_024
        }
    }

    /// Whether a peer must present a key.
    package var asksForKeys: Bool { if case .server = mechanism { true } else { false } }

    /// No encryption; every peer is served.
    public static let plain = SocketSecurity(mechanism: .plain)

    /// No encryption. Every peer is served, unless the context's guard finds the socket full when it connects.
    public static func plain(screenedBy authenticator: Authenticator) -> SocketSecurity {
        SocketSecurity(mechanism: .screened(authenticator))
    }

    /// CURVE (RFC 26) for the side with the well-known key; it serves the clients that its authenticator admits.
    public static func server(_ keys: CurveKeyPair, _ authenticator: Authenticator) -> SocketSecurity {
        SocketSecurity(mechanism: .server(keys, authenticator))
    }

    /// CURVE (RFC 26) for the side that proves its identity, and connects only to the holder of the server's key.
    public static func client(_ keys: CurveKeyPair, server: CurveKey) -> SocketSecurity {
        SocketSecurity(mechanism: .client(keys, server: server))
    }
}
