/// Watches the connections of one socket, and ends expensive ones. See `Context.init(guarding:)`.
///
/// Confined to the thread that reads the socket's events; all its functions are called there.
package protocol ConnectionGuard {
    func take(_ event: ConnectionEvent, at now: Int64)
    /// When to call `look` next, on `MonotonicClock`; nil if there are no connections to check.
    var nextLook: Int64? { get }
    /// Checks the connections.
    /// - Parameter traffic: queries what the socket's owner has exchanged since the last query.
    func look(at now: Int64, traffic: () async -> SocketTraffic) async
    /// Whether new connections are refused at present. Read after each event and each look.
    var isFull: Bool { get }
}

/// The socket that a guard watches.
package struct GuardedSocket: Sendable {
    /// The socket type. Each case names what its peers send.
    package enum Pattern: String, Sendable {
        /// Subscriptions.
        case publish = "PUB"
        /// Events.
        case subscribe = "SUB"
        /// Requests.
        case reply = "ROUTER"
        /// Replies to requests, and nothing else.
        case request = "REQ"
    }

    package let pattern: Pattern
    package let options: SocketOptions
}
