/// Limits of what unknown clients can take of a server.
package struct WebLimits: Sendable {
    /// Simultaneous connections; further ones wait in the kernel.
    package var connections: UInt32
    /// Bytes for a connection's request line and headers; longer ones are refused (414, 431).
    package var memory: Int
    /// Bytes of a request's body. A longer body is refused (413); if its length was not declared, the connection is closed.
    package var body: Int
    /// Bytes of all connections' bodies together; beyond that, requests are refused (503) or their connections closed.
    package var bodies: Int
    /// How long a client may take to send a request, or to read a response.
    package var life: Duration

    /// For pages and their events.
    package static let browsers = WebLimits(
        connections: 128, memory: 16 << 10, body: 1 << 20, bodies: 128 << 20, life: .seconds(30))
    /// For devices that each send one message per second.
    package static let devices = WebLimits(
        connections: 2_048, memory: 16 << 10, body: 1 << 20, bodies: 128 << 20, life: .seconds(30))
    /// For requests without a body, as Prometheus sends them; `life` is its usual limit for a scrape.
    package static let scrapes = WebLimits(connections: 16, memory: 8 << 10, body: 0, bodies: 0, life: .seconds(10))

    /// The same limits with another `life`.
    package func lasting(_ life: Duration) -> WebLimits {
        var limits = self
        limits.life = life
        return limits
    }
}
