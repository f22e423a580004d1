import FoundationEssentials
import ServiceKit

/// An HTTP or HTTPS URL. Its query may contain a signature, so the description omits it.
struct WebAddress: Hashable, Sendable, CustomStringConvertible {
    let scheme: String
    /// The host in lower case, IPv6 in brackets, with the port unless it is the scheme's default.
    let authority: String
    /// Percent-encoded; begins with `/`.
    var path: String
    /// Percent-encoded, without `?`.
    var query: Secret?

    /// Reads a URL.
    /// - Throws: `InvalidValue` with a correction and without the URL's secrets.
    init(typed text: String) throws(InvalidValue) {
        let shown = text.prefix { $0 != "?" }
        guard let parts = URLComponents(string: text, encodingInvalidCharacters: false),
            let scheme = parts.scheme?.lowercased(), ["http", "https"].contains(scheme),
            let host = parts.encodedHost, !host.isEmpty
        else { throw InvalidValue("'\(shown)' is not a URL: write https://host/path") }
        guard parts.user == nil, parts.password == nil else {
            throw InvalidValue(
                "a URL with a user or password would be seen in logs: put an Authorization header into a file")
        }
        guard parts.fragment == nil else { throw InvalidValue("'\(shown)' has a fragment, which no server sees") }
        self.scheme = scheme
        let port = parts.port.flatMap { $0 == (scheme == "https" ? 443 : 80) ? nil : $0 }
        authority = host.lowercased() + (port.map { ":\($0)" } ?? "")
        path = parts.percentEncodedPath.isEmpty ? "/" : parts.percentEncodedPath
        query = parts.percentEncodedQuery.map { Secret($0) }
    }

    init(scheme: String, authority: String, path: String, query: Secret? = nil) {
        self.scheme = scheme
        self.authority = authority
        self.path = path
        self.query = query
    }

    /// The complete URL, including its secrets.
    var secretText: String { "\(scheme)://\(authority)\(path)" + (query.map { "?\($0.reveal())" } ?? "") }

    /// The URL without its query.
    var description: String { "\(scheme)://\(authority)\(path)" + (query == nil ? "" : "?…") }

    /// Whether the data is protected in transit: by encryption, or because it stays on this machine.
    var isProtected: Bool {
        let host = authority.hasPrefix("[") ? authority.prefix { $0 != "]" } + "]" : authority.prefix { $0 != ":" }
        // A host name may also begin with 127.
        let numbers = host.split(separator: ".", omittingEmptySubsequences: false).map { UInt8($0) }
        let isLoopback = numbers.count == 4 && numbers[0] == 127 && !numbers.contains(nil)
        return scheme == "https" || host == "localhost" || host == "[::1]" || isLoopback
    }
}

extension URLComponents {
    /// The host, with IPv6 in brackets.
    fileprivate var encodedHost: String? {
        guard let host else { return nil }
        return host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host
    }
}
