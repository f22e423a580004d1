/// Why a message could not be read, in a sentence for the person whose program sent it.
public struct MessageError: Error, Hashable, CustomStringConvertible, Sendable {
    /// The kind of fault, for callers that act on it. Open: later versions may add kinds.
    public struct Code: RawRepresentable, Hashable, Sendable {
        /// The kind as one word, the name of its static member.
        public let rawValue: String

        /// A kind by its word.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// Not JSON, or not the JSON that was expected at this place.
        public static let malformed = Code(rawValue: "malformed")
        /// The body names another schema than the one being read.
        public static let wrongSchema = Code(rawValue: "wrongSchema")
        /// A field that must be there is not.
        public static let missingField = Code(rawValue: "missingField")
        /// A field is there but holds another kind of value.
        public static let wrongType = Code(rawValue: "wrongType")
        /// A number or a date is outside of what the field can hold.
        public static let outOfRange = Code(rawValue: "outOfRange")
        /// A row of samples has another number of columns than `fields` names.
        public static let wrongColumns = Code(rawValue: "wrongColumns")
    }

    /// The kind of fault.
    public let code: Code
    /// What is wrong, and where, as a sentence without a full stop.
    public let message: String

    /// An error of a kind, with the sentence that explains it.
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// The sentence.
    public var description: String { message }
}
