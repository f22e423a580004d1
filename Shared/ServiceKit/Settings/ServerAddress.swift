/// Where a server is that a scheme is written in front of, which says whether it speaks TLS: `mqtt://broker`, `tls://server:4222`.
package struct ServerAddress: Hashable, Sendable {
    /// A scheme, and the port that is meant if none is written.
    package typealias Scheme = (name: String, port: UInt16)

    package let isSecure: Bool
    /// A name, or an address without brackets.
    package let host: String
    package let port: UInt16
    /// Whether it is on this machine.
    package let isLocal: Bool
    private let scheme: String

    /// - Parameters:
    ///   - text: `SCHEME://HOST` or `SCHEME://HOST:PORT`. Who somebody is does not belong into an address, where others can read it.
    ///   - secure: the scheme for TLS.
    /// - Returns: nil if it is none.
    package init?(_ text: String, plain: Scheme, secure: Scheme) {
        guard let scheme = [plain, secure].first(where: { text.hasPrefix("\($0.name)://") }), !text.contains("@") else {
            return nil
        }
        var place = String(text.dropFirst(scheme.name.count + 3))
        if place.hasSuffix("/") { place.removeLast() }
        // An address of version 6 is in brackets, and has colons too.
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
