/// The address of a server with a scheme that selects plain TCP or TLS: `mqtt://broker`, `tls://server:4222`.
package struct ServerAddress: Hashable, Sendable {
    package typealias Scheme = (name: String, port: UInt16)

    package let isSecure: Bool
    /// A name, or an address without brackets.
    package let host: String
    package let port: UInt16
    package let isLocal: Bool
    private let scheme: String

    /// - Parameters:
    ///   - text: `SCHEME://HOST` or `SCHEME://HOST:PORT`. Credentials are not accepted in an address, where others can read
    ///     them.
    ///   - secure: the scheme for TLS.
    /// - Returns: nil if the text is not such an address.
    package init?(_ text: String, plain: Scheme, secure: Scheme) {
        guard let scheme = [plain, secure].first(where: { text.hasPrefix("\($0.name)://") }), !text.contains("@") else {
            return nil
        }
        var place = String(text.dropFirst(scheme.name.count + 3))
        if place.hasSuffix("/") { place.removeLast() }
        // An IPv6 address is in brackets, and has colons too.
        let end = place.lastIndex(of: "]").map { place[$0...] } ?? place[...]
        if !end.contains(":") { place += ":\(scheme.port)" }
        guard let endpoint = try? Endpoint(typed: "tcp://\(place)"), let port = endpoint.port, port > 0,
            endpoint.host != "*"
        else { return nil }
        self.scheme = scheme.name
        isSecure = scheme.name == secure.name
        host = endpoint.host.hasPrefix("[") ? String(endpoint.host.dropFirst().dropLast()) : endpoint.host
        self.port = port
        isLocal = endpoint.isLocal
    }

    package var description: String { "\(scheme)://\(host.contains(":") ? "[\(host)]" : host):\(port)" }
}
