/// The type of a field's values in a stream of records: a stream whose fields are not all numbers.
///
/// A value may also be `null`. An unknown type is treated as `json`.
public struct FieldType: RawRepresentable, Codable, Hashable, Sendable {
    /// The word on the wire and in files.
    public let rawValue: String

    /// Any word: later versions may add some.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// JSON numbers, and the strings "NaN", "Infinity" and "-Infinity".
    public static let number = FieldType(rawValue: "number")
    /// Strings.
    public static let text = FieldType(rawValue: "text")
    /// `true` and `false`.
    public static let boolean = FieldType(rawValue: "boolean")
    /// Strings that are dates, ISO 8601 by convention: their form is not checked.
    public static let date = FieldType(rawValue: "date")
    /// Any JSON value.
    public static let json = FieldType(rawValue: "json")

    /// The maximum nesting of arrays and objects in a value.
    public static let maximumDepth = 16

    /// The type of a stream's field.
    /// - Parameter types: the stream's types; nil if all fields are numbers. A document that somebody changed may have too few.
    package static func type(of field: Int, in types: [FieldType]?) -> FieldType {
        guard let types else { return .number }
        return field < types.count ? types[field] : .json
    }

    /// Whether a field of this type accepts a value.
    /// - Parameter value: a JSON value, without surrounding blanks.
    public func accepts(_ value: UnsafeRawBufferPointer) -> Bool {
        guard let first = value.first else { return false }
        if first == UInt8(ascii: "n") { return true }
        return switch self {
        case .number:
            first == UInt8(ascii: "\"")
                ? DecimalParser.nonFinite(value) != nil : first == UInt8(ascii: "-") || first &- UInt8(ascii: "0") < 10
        case .text, .date: first == UInt8(ascii: "\"")
        case .boolean: first == UInt8(ascii: "t") || first == UInt8(ascii: "f")
        default: true
        }
    }
}
