/// What a stranger can take of a server.
package struct WebLimits: Sendable {
    /// Connections at the same time; others wait in the kernel.
    package var connections: UInt32
    /// Bytes for a connection's request line and headers; longer ones are refused (414, 431).
    package var memory: Int
    /// Bytes of a request's body; a longer one is refused (413), or its connection ends if it did not say its length.
    package var body: Int
    /// Bytes of the bodies of all connections together; beyond them requests are refused (503), or their connections end.
    package var bodies: Int
    /// How long a request may take to come in, and an answer to be read.
    package var life: Duration

    /// For pages and their events.
    package static let browsers = WebLimits(
        connections: 128, memory: 16 << 10, body: 1 << 20, bodies: 128 << 20, life: .seconds(30))
    /// For devices that each send a message a second.
    package static let devices = WebLimits(
        connections: 2_048, memory: 16 << 10, body: 1 << 20, bodies: 128 << 20, life: .seconds(30))
    /// For requests without a body, as Prometheus makes them; the life is what it allows for a scrape.
    package static let scrapes = WebLimits(connections: 16, memory: 8 << 10, body: 0, bodies: 0, life: .seconds(10))

    /// The same with another life of connections.
    package func lasting(_ life: Duration) -> WebLimits {
        var limits = self
        limits.life = life
        return limits
    }
}
