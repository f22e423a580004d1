import ArgumentParser

/// Where a page is served over HTTP: `9550`, `127.0.0.1:9550`, `[::1]:9550`, `*:9550`.
///
/// A port alone is one of the loopback interface; 0 is any that is free.
package struct HTTPAddress: Hashable, Sendable {
    /// A name, an address without brackets, or `*`.
    package let host: String
    /// 0 for any that is free.
    package let port: UInt16
    /// Whether nobody outside this machine can reach it.
    package let isLocal: Bool

    /// A port of this machine alone.
    package static func loopback(port: UInt16) -> HTTPAddress {
        HTTPAddress(host: "127.0.0.1", port: port, isLocal: true)
    }

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

    /// Where somebody on this machine reaches it, once the port is known.
    /// - Parameter name: what to write for all addresses of this machine.
    package func place(port: UInt16, forAll name: String = "127.0.0.1") -> String {
        let isAll = host == "*" || host == "0.0.0.0" || host == "::"
        return "\(Self.bracketed(isAll ? name : host)):\(port)"
    }

    private static func bracketed(_ host: String) -> String { host.contains(":") ? "[\(host)]" : host }
}

extension HTTPAddress: ConfigurationValue, ExpressibleByArgument {
    package init(typed text: String) throws(InvalidValue) {
        let isPort = !text.isEmpty && text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        guard let endpoint = try? Endpoint(typed: "tcp://\(isPort ? "127.0.0.1:" : "")\(text)"),
            let port = endpoint.port
        else {
            throw InvalidValue(
                "'\(text)' is not an address to serve at: write a port such as 9550, or a host and port such as 127.0.0.1:9550"
            )
        }
        self.init(
            host: endpoint.host.hasPrefix("[") ? String(endpoint.host.dropFirst().dropLast()) : endpoint.host,
            port: port, isLocal: endpoint.isLocal)
    }

    package var description: String { "\(Self.bracketed(host)):\(port)" }
}
