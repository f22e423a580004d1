extension DecodingError {
    /// The fault and its place, in one sentence for a person.
    public var sentence: String {
        switch self {
        case .keyNotFound(let key, let context): "'\(Self.path(context, key))' is missing"
        case .typeMismatch(let type, let context): "'\(Self.path(context))' must be \(Self.name(of: type))"
        case .valueNotFound(let type, let context): "'\(Self.path(context))' is null and must be \(Self.name(of: type))"
        case .dataCorrupted(let context):
            context.codingPath.isEmpty
                ? context.debugDescription : "'\(Self.path(context))': \(context.debugDescription)"
        @unknown default: "\(self)"
        }
    }

    private static func path(_ context: Context, _ last: (any CodingKey)? = nil) -> String {
        (context.codingPath + (last.map { [$0] } ?? [])).map { $0.intValue.map(String.init) ?? $0.stringValue }
            .joined(separator: ".")
    }

    private static func name(of type: any Any.Type) -> String {
        switch type {
        case is String.Type: "a text"
        case is Int.Type: "a whole number"
        case is Double.Type: "a number"
        case is Bool.Type: "true or false"
        case is [String: Any].Type: "an object"
        case is [Any].Type: "an array"
        default: "\(type)".hasPrefix("Array") ? "an array" : "\(type)".hasPrefix("Dictionary") ? "an object" : "\(type)"
        }
    }
}
