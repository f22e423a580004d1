import Glibc

/// The target of an endpoint: an address, or a host name that must be looked up.
package enum EndpointTarget: Hashable, Sendable {
    /// An endpoint that libzmq connects to without a look-up, as its monitor reports it.
    case place(String)
    /// A name, and the port for each of its addresses.
    case host(name: String, port: String)

    /// Parses an endpoint. A malformed one is treated as a place, and libzmq refuses it.
    package init(_ endpoint: String) {
        let prefix = "tcp://"
        guard endpoint.hasPrefix(prefix), let colon = endpoint.lastIndex(of: ":") else {
            self = .place(endpoint)
            return
        }
        let host = String(endpoint[..<colon].dropFirst(prefix.count))
        let port = String(endpoint[colon...].dropFirst())
        if let address = Self.numeric(host) {
            self = .place("\(prefix)\(address):\(port)")
        } else if host.isEmpty || host.hasPrefix("[") || host == "*" {
            self = .place(endpoint)
        } else {
            self = .host(name: host, port: port)
        }
    }

    /// The canonical form of a numeric address: IPv6 shortened and in brackets. Nil if `host` is a name.
    package static func numeric(_ host: String) -> String? {
        var version4 = in_addr()
        var version6 = in6_addr()
        if inet_pton(AF_INET, host, &version4) == 1 { return host }
        let bare = host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : host
        guard inet_pton(AF_INET6, bare, &version6) == 1 else { return nil }
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) { text in
            guard let start = text.baseAddress, inet_ntop(AF_INET6, &version6, start, socklen_t(text.count)) != nil
            else { return nil }
            return "[\(String(cString: start))]"
        }
    }
}
