package import Messages

extension StreamDescription {
    /// Whether a relay publishes the stream, on behalf of a publisher elsewhere.
    package var isRelayed: Bool { source == Program.relay.rawValue }
}
