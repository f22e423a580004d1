/// Why a message could not be read, in a sentence for the person whose program sent it.
public struct MessageError: Error, Hashable, CustomStringConvertible, Sendable {
    /// The kind of fault, for callers that act on it. Open: later versions may add kinds.
    public struct Code: RawRepresentable, Hashable, Sendable {
        /// The kind as one word, the name of its static member.
        public let rawValue: String

        /// A kind from its word.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// Not JSON, or not the JSON that is expected at this place.
        public static let malformed = Code(rawValue: "malformed")
        /// The body names a schema other than the expected one.
        public static let wrongSchema = Code(rawValue: "wrongSchema")
        /// A required field is missing.
        public static let missingField = Code(rawValue: "missingField")
        /// A field holds a value of the wrong type.
        public static let wrongType = Code(rawValue: "wrongType")
        /// A number or a date is outside the field's range.
        public static let outOfRange = Code(rawValue: "outOfRange")
        /// A row of samples has more or fewer columns than `fields` names.
        public static let wrongColumns = Code(rawValue: "wrongColumns")
    }

    /// The kind of fault.
    public let code: Code
    /// The fault and its place, as a sentence without a full stop.
    public let message: String

    /// Creates an error.
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// The same as `message`.
    public var description: String { message }
}
