import ServiceKit

/// Where archives go on a web server: a URL with `{name}` where an archive's name belongs, or one that ends with `/`.
struct WebTemplate: Hashable, Sendable, CustomStringConvertible {
    /// Stands in the URL for `{name}`, which is not allowed in one.
    private static let placeholder = "holdfast-archive-name"

    private let address: WebAddress

    /// Reads a template.
    /// - Throws: `InvalidValue` with what would be right, and without the URL's secrets.
    init(typed text: String) throws(InvalidValue) {
        let completed = text.hasSuffix("/") && !text.contains("?") ? text + "{name}" : text
        address = try WebAddress(typed: completed.replacing("{name}", with: Self.placeholder))
        guard address.path.contains(Self.placeholder) || address.query?.reveal().contains(Self.placeholder) == true
        else {
            throw InvalidValue(
                "\(address) is the same for all archives: write {name} in place of an archive's name, or end with /")
        }
    }

    /// Where the archive of this name goes.
    func address(of name: String) -> WebAddress {
        var address = address
        let name = PercentEncoding.component(name)
        address.path = address.path.replacing(Self.placeholder, with: name)
        address.query = address.query.map { Secret($0.reveal().replacing(Self.placeholder, with: name)) }
        return address
    }

    /// Whether it has a query, which may hold a signature.
    var hasSecret: Bool { address.query != nil }

    /// Whether what is sent there is protected on the way.
    var isProtected: Bool { address.isProtected }

    /// The template without its query.
    var description: String { address.description.replacing(Self.placeholder, with: "{name}") }
}
