package import ServiceKit

/// Where an MQTT broker is: `mqtt://broker`, or `mqtts://broker:8884` for one that speaks TLS.
package struct MQTTBroker: Hashable, Sendable, ConfigurationValue {
    package let isSecure: Bool
    /// A name, or an address without brackets.
    package let host: String
    package let port: UInt16
    /// Whether it is on this machine.
    package let isLocal: Bool

    package init(typed text: String) throws(InvalidValue) {
        let problem = InvalidValue(
            "'\(text.contains("@") ? "mqtt://…@…" : text)' is not a broker: write mqtt://HOST:PORT or mqtts://HOST:PORT, and say who you "
                + "are with --mqtt-user and --mqtt-password-file")
        let schemes = ["mqtt://": false, "mqtts://": true]
        guard let scheme = schemes.first(where: { text.hasPrefix($0.key) }), !text.contains("@") else { throw problem }
        isSecure = scheme.value
        var place = String(text.dropFirst(scheme.key.count))
        if place.hasSuffix("/") { place.removeLast() }
        // An address of version 6 is in brackets, and has colons too.
        let end = place.lastIndex(of: "]").map { place[$0...] } ?? place[...]
        if !end.contains(":") { place += isSecure ? ":8883" : ":1883" }
        guard let endpoint = try? Endpoint(typed: "tcp://\(place)"), let port = endpoint.port, port > 0,
            endpoint.host != "*"
        else { throw problem }
        host = endpoint.host.hasPrefix("[") ? String(endpoint.host.dropFirst().dropLast()) : endpoint.host
        self.port = port
        isLocal = endpoint.isLocal
    }

    package var description: String {
        "\(isSecure ? "mqtts" : "mqtt")://\(host.contains(":") ? "[\(host)]" : host):\(port)"
    }
}
