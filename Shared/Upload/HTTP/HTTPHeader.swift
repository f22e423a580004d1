/// A field of a request or response. A request's values may be secret, so the description contains only the name.
struct HTTPHeader: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    /// In lower case, since names are case-insensitive.
    let name: String
    let value: String

    init(_ name: String, _ value: String) {
        self.name = name.lowercased()
        self.value = value
    }

    var description: String { "\(name): •••" }
    var customMirror: Mirror { Mirror(self, children: []) }
}

extension [HTTPHeader] {
    subscript(name: String) -> String? { first { $0.name == name }?.value }
}
