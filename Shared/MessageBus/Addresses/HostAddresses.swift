import Glibc

/// What a look-up of a host's name found.
package enum HostAddresses: Hashable, Sendable {
    /// Numeric addresses, as endpoints have them (IPv6 in brackets), each once, in the resolver's order; at least one.
    case found([String])
    /// None, and why, in the resolver's words.
    case notFound(String)

    /// Asks the system's resolver: getaddrinfo(3), which may block for as long as it likes.
    ///
    /// A host with addresses of both kinds is one host: connecting to both would bring everything twice. So IPv6 counts
    /// only if there is no IPv4.
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
