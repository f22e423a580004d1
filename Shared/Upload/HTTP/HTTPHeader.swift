/// One field of a request or a response. Values of requests may be secrets, so a field prints its name alone.
struct HTTPHeader: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    /// In small letters: names are the same in any letters.
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
    /// The value of the first field of this name.
    subscript(name: String) -> String? { first { $0.name == name }?.value }
}
