/// Watches the connections of one socket, and ends those that it finds too expensive. See `Context.init(guarding:)`.
///
/// Confined to the thread that reads the socket's events, where all its functions are called.
package protocol ConnectionGuard {
    /// Receives each event.
    func take(_ event: ConnectionEvent, at now: Int64)
    /// When to call `look` next, on `MonotonicClock`; nil if there is nothing to look at.
    var nextLook: Int64? { get }
    /// Looks at the connections.
    /// - Parameter traffic: asks the socket's owner what it has exchanged since it was asked last.
    func look(at now: Int64, traffic: () async -> SocketTraffic) async
    /// Whether new connections are refused now. Read after each event and each look.
    var isFull: Bool { get }
}

/// The socket that a guard is to watch.
package struct GuardedSocket: Sendable {
    /// What its peers send.
    package enum Pattern: String, Sendable {
        /// Subscriptions.
        case publish = "PUB"
        /// Events.
        case subscribe = "SUB"
        /// Requests.
        case reply = "ROUTER"
        /// The answers to requests, and nothing before or after them.
        case request = "REQ"
    }

    package let pattern: Pattern
    /// The options that it was opened with.
    package let options: SocketOptions
}
