package import ServiceKit

/// The address of an MQTT broker: `mqtt://broker`, or `mqtts://broker:8884` with TLS.
package struct MQTTBroker: Hashable, Sendable, ConfigurationValue {
    private let address: ServerAddress

    package init(typed text: String) throws(InvalidValue) {
        guard let address = ServerAddress(text, plain: ("mqtt", 1883), secure: ("mqtts", 8883)) else {
            throw InvalidValue(
                "'\(text.contains("@") ? "mqtt://…@…" : text)' is not a broker: write mqtt://HOST:PORT or mqtts://HOST:PORT, and give "
                    + "credentials with --mqtt-user and --mqtt-password-file")
        }
        self.address = address
    }

    package var isSecure: Bool { address.isSecure }
    /// A name, or an address without brackets.
    package var host: String { address.host }
    package var port: UInt16 { address.port }
    package var isLocal: Bool { address.isLocal }
    package var description: String { address.description }
}
