import ServiceKit

/// The URL of archives on a web server. It contains `{name}` for the archive's name, or ends with `/`.
struct WebTemplate: Hashable, Sendable, CustomStringConvertible {
    /// Replaces `{name}`, which is not allowed in a URL.
    private static let placeholder = "holdfast-archive-name"

    private let address: WebAddress

    /// Reads a template.
    /// - Throws: `InvalidValue` with a correction and without the URL's secrets.
    init(typed text: String) throws(InvalidValue) {
        let completed = text.hasSuffix("/") && !text.contains("?") ? text + "{name}" : text
        address = try WebAddress(typed: completed.replacing("{name}", with: Self.placeholder))
        guard address.path.contains(Self.placeholder) || address.query?.reveal().contains(Self.placeholder) == true
        else {
            throw InvalidValue(
                "\(address) is the same for all archives: write {name} in place of an archive's name, or end with /")
        }
    }

    /// The URL of the archive with this name.
    func address(of name: String) -> WebAddress {
        var address = address
        let name = PercentEncoding.component(name)
        address.path = address.path.replacing(Self.placeholder, with: name)
        address.query = address.query.map { Secret($0.reveal().replacing(Self.placeholder, with: name)) }
        return address
    }

    /// Whether the template has a query, which may contain a signature.
    var hasSecret: Bool { address.query != nil }

    /// Whether data is protected in transit.
    var isProtected: Bool { address.isProtected }

    var description: String { address.description.replacing(Self.placeholder, with: "{name}") }
}
