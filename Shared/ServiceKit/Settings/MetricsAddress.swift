import ArgumentParser

/// Where metrics are served over HTTP: `9550`, `127.0.0.1:9550`, `[::1]:9550`, `*:9550`.
///
/// A port alone is one of the loopback interface; 0 is any that is free.
package struct MetricsAddress: Hashable, Sendable {
    /// A name, an address without brackets, or `*`.
    let host: String
    /// 0 for any that is free.
    let port: UInt16
    /// Whether nobody outside this machine can reach it.
    let isLocal: Bool

    /// Refuses an address that other machines can reach, unless the user said that this is wanted: this is plain HTTP,
    /// also where the sockets of the bus have keys.
    /// - Throws: `ServiceError` with what to do.
    func requireLocal(insecure: Bool) throws(ServiceError) {
        guard !isLocal, !insecure else { return }
        throw ServiceError(
            .badConfiguration,
            "metrics at \(self) can be read from other machines, over plain HTTP: write \(port) for this machine alone, "
                + "or pass --insecure if the network is private")
    }

    /// Where somebody reads them, once the port is known.
    func url(port: UInt16) -> String { "http://\(Self.bracketed(host == "*" ? "127.0.0.1" : host)):\(port)/metrics" }

    private static func bracketed(_ host: String) -> String { host.contains(":") ? "[\(host)]" : host }
}

extension MetricsAddress: ConfigurationValue, ExpressibleByArgument {
    package init(typed text: String) throws(InvalidValue) {
        let isPort = !text.isEmpty && text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        guard let endpoint = try? Endpoint(typed: "tcp://\(isPort ? "127.0.0.1:" : "")\(text)"),
            let port = endpoint.port
        else {
            throw InvalidValue(
                "'\(text)' is not an address for metrics: write a port such as 9550, or a host and port such as 127.0.0.1:9550"
            )
        }
        host = endpoint.host.hasPrefix("[") ? String(endpoint.host.dropFirst().dropLast()) : endpoint.host
        self.port = port
        isLocal = endpoint.isLocal
    }

    package var description: String { "\(Self.bracketed(host)):\(port)" }
}
