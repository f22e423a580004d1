import Glibc

/// The result of a host name's look-up.
package enum HostAddresses: Hashable, Sendable {
    /// At least one numeric address as in endpoints (IPv6 in brackets), without duplicates, in the resolver's order.
    case found([String])
    /// No address; has the resolver's error.
    case notFound(String)

    /// Uses the system's resolver, getaddrinfo(3), which may block for any length of time.
    ///
    /// A host with addresses of both kinds is one host: connecting to both would deliver everything twice. So IPv6 addresses
    /// are used only if there is no IPv4 address.
    package static func lookUp(_ name: String) -> HostAddresses {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let status = getaddrinfo(name, nil, &hints, &list)
        guard status == 0 else { return .notFound(String(cString: gai_strerror(status))) }
        defer { freeaddrinfo(list) }
        var version4: [String] = []
        var version6: [String] = []
        var next = list
        while let entry = next {
            next = entry.pointee.ai_next
            guard let text = numericText(of: entry.pointee) else { continue }
            if entry.pointee.ai_family == AF_INET, !version4.contains(text) { version4.append(text) }
            if entry.pointee.ai_family == AF_INET6, !version6.contains("[\(text)]") { version6.append("[\(text)]") }
        }
        let addresses = version4.isEmpty ? version6 : version4
        return addresses.isEmpty ? .notFound("the name has no address") : .found(addresses)
    }

    private static func numericText(of entry: addrinfo) -> String? {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(NI_MAXHOST)) { text in
            guard let start = text.baseAddress,
                getnameinfo(
                    entry.ai_addr, entry.ai_addrlen, start, socklen_t(text.count), nil, 0, NI_NUMERICHOST) == 0
            else { return nil }
            return String(cString: start)
        }
    }
}
