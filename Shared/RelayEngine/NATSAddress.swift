package import ServiceKit

/// The address of a NATS server: `nats://server:4222`, or `tls://server:4222` for a server that uses TLS.
package struct NATSAddress: Hashable, Sendable, ConfigurationValue {
    private let address: ServerAddress

    package init(typed text: String) throws(InvalidValue) {
        guard let address = ServerAddress(text, plain: ("nats", 4222), secure: ("tls", 4222)) else {
            throw InvalidValue(
                "'\(text.contains("@") ? "nats://…@…" : text)' is not a NATS server: write nats://HOST:PORT or tls://HOST:PORT, and give "
                    + "credentials with --nats-user and --nats-password-file, or --nats-credentials")
        }
        self.address = address
    }

    package var isSecure: Bool { address.isSecure }
    /// Whether the server is on this machine.
    package var isLocal: Bool { address.isLocal }
    package var description: String { address.description }
}
