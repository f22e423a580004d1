import ArgumentParser

/// The address at which pages are served over HTTP: `9550`, `127.0.0.1:9550`, `[::1]:9550`, `*:9550`.
///
/// A bare port number binds to the loopback interface; port 0 selects a free port.
package struct HTTPAddress: Hashable, Sendable {
    /// A name, an address without brackets, or `*`.
    package let host: String
    /// 0 selects a free port.
    package let port: UInt16
    /// Whether only this machine can reach the address.
    package let isLocal: Bool

    /// A port of the loopback interface.
    package static func loopback(port: UInt16) -> HTTPAddress {
        HTTPAddress(host: "127.0.0.1", port: port, isLocal: true)
    }

    /// Refuses an address that other machines can reach unless `insecure` permits it: this is plain HTTP, even if the program's
    /// sockets have keys.
    /// - Throws: `ServiceError` with advice.
    func requireLocal(insecure: Bool) throws(ServiceError) {
        guard !isLocal, !insecure else { return }
        throw ServiceError(
            .badConfiguration,
            "metrics at \(self) can be read from other machines, over plain HTTP: write \(port) for this machine alone, "
                + "or pass --insecure if the network is private")
    }

    /// The address for programs on this machine, once the port is known.
    /// - Parameter name: the host to name if the server listens on all addresses.
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
