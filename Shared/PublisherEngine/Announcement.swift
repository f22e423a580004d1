package import ServiceKit

/// The address that a publisher announces for replay requests: a host, or a host and a port, as others reach them.
package struct Announcement: Hashable, Sendable, ConfigurationValue {
    /// A name or an address.
    package let host: String
    /// nil for the port that the socket listens on.
    package let port: UInt16?

    package init(typed text: String) throws(InvalidValue) {
        let isEndpoint = text.contains("://")
        guard let endpoint = try? Endpoint(typed: isEndpoint ? text : "tcp://\(text):*"), endpoint.transport == .tcp,
            !endpoint.isWildcard, isEndpoint == (endpoint.port != nil), endpoint.port != 0
        else {
            throw InvalidValue(
                "'\(text)' is not a host: write a name or an address, or tcp://HOST:PORT if the port differs too")
        }
        host = endpoint.host
        port = endpoint.port
    }

    package var description: String { port.map { "tcp://\(host):\($0)" } ?? host }
}

extension Endpoint {
    /// The endpoint to announce to others. For a socket that listens on all addresses, it has this machine's address: names are
    /// not known everywhere.
    /// - Parameters:
    ///   - listening: the socket's endpoint, with its real port.
    ///   - announcement: the address configured by the user.
    package static func announced(_ listening: String, as announcement: Announcement? = nil) -> String {
        guard let endpoint = try? Endpoint(typed: listening), endpoint.transport == .tcp, let port = endpoint.port
        else { return listening }
        if let announcement { return "tcp://\(announcement.host):\(announcement.port ?? port)" }
        return endpoint.isWildcard ? "tcp://\(ThisMachine.address):\(port)" : listening
    }
}
