import NATS
package import ServiceKit

/// Where a NATS server is: `nats://server:4222`, or `tls://server:4222` for one that speaks TLS.
package struct NATSAddress: Hashable, Sendable, ConfigurationValue {
    package let isSecure: Bool
    /// Host and port.
    private let place: String
    /// Whether it is on this machine.
    package let isLocal: Bool

    package init(typed text: String) throws(InvalidValue) {
        let problem = InvalidValue(
            "'\(text.contains("@") ? "nats://…@…" : text)' is not a NATS server: write nats://HOST:PORT or tls://HOST:PORT, and say who "
                + "you are with --nats-user and --nats-password-file, or --nats-credentials")
        let schemes = ["nats://": false, "tls://": true]
        guard let scheme = schemes.first(where: { text.hasPrefix($0.key) }), !text.contains("@") else { throw problem }
        isSecure = scheme.value
        var place = String(text.dropFirst(scheme.key.count))
        if place.hasSuffix("/") { place.removeLast() }
        // An address of version 6 is in brackets, and has colons too.
        let end = place.lastIndex(of: "]").map { place[$0...] } ?? place[...]
        if !end.contains(":") { place += ":4222" }
        guard let endpoint = try? Endpoint(typed: "tcp://\(place)"), let port = endpoint.port, port > 0,
            endpoint.host != "*"
        else { throw problem }
        self.place = place
        isLocal = endpoint.isLocal
    }

    package var description: String { "\(isSecure ? "tls" : "nats")://\(place)" }
}
