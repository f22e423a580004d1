/// A person's answers and actions in a session, as a program sends them with `recording.stop`: a view of JSON that is kept
/// unchanged.
///
/// The JSON is an object with `stepHistory`, an array of results, and optionally `asyncResults` (another array), `taskRunUUID`
/// and `schemaInfo` (`{"identifier", "revision"}`). A result has an `identifier` and is one of
/// - an answer: `value`, any JSON;
/// - a collection: `inputResults`, an array of results;
/// - a section, a task in the task: `stepHistory`, and the optional fields of a task;
/// - a file of the session's directory: `relativePath`, and optionally `contentType` and `startDate`;
/// - anything else, such as a step without a question.
public struct TaskResults: Hashable, Sendable {
    /// A result.
    public struct Node: Hashable, Sendable {
        /// The result's name, among its siblings.
        public let identifier: String
        /// The result's content.
        public let content: Content
    }

    /// The content of a result.
    public enum Content: Hashable, Sendable {
        case answer(JSONValue)
        case collection([Node])
        case section(TaskResults)
        case file(File)
        case other
    }

    /// A file that belongs to a result.
    public struct File: Hashable, Sendable {
        /// The file's name in the session's directory.
        public let name: String
        /// The file's media type, if given.
        public let contentType: String?
        /// When the file was begun, if given.
        public let startDate: WallTime?
    }

    /// The results of the steps, in order.
    public let steps: [Node]
    /// The results of actions that ran beside the steps.
    public let asyncResults: [Node]
    /// The run's UUID, if given.
    public let taskRunUUID: String?
    /// The schema's name, if given.
    public let schemaIdentifier: String?
    /// The schema's revision, if given.
    public let schemaRevision: Int?
    /// The original JSON, unchanged.
    public let json: [String: JSONValue]

    /// The maximum nesting of results, because other readers' stacks are limited, too.
    private static let maximumDepth = 64

    /// Reads results.
    ///
    /// - Throws: `wrongType`, `missingField`, `malformed` or `outOfRange`, with a message that names the place.
    public init(_ json: JSONValue) throws(MessageError) {
        try self.init(json, at: "results", depth: 0)
    }

    private init(_ json: JSONValue, at place: String, depth: Int) throws(MessageError) {
        guard case .object(let fields) = json else { throw Self.wrongType(place, "an object") }
        guard depth <= Self.maximumDepth else {
            throw MessageError(.outOfRange, "\(place) is nested in more than \(Self.maximumDepth) others")
        }
        self.json = fields
        steps = try Self.nodes(fields["stepHistory"], at: "\(place).stepHistory", depth: depth)
        asyncResults = try Self.nodes(fields["asyncResults"], at: "\(place).asyncResults", depth: depth)
        taskRunUUID = try Self.string(fields["taskRunUUID"], at: "\(place).taskRunUUID")
        switch fields["schemaInfo"] {
        case nil, .null:
            schemaIdentifier = nil
            schemaRevision = nil
        case .object(let schema):
            schemaIdentifier = try Self.string(schema["identifier"], at: "\(place).schemaInfo.identifier")
            switch schema["revision"] {
            case nil, .null: schemaRevision = nil
            case .integer(let revision): schemaRevision = revision
            default: throw Self.wrongType("\(place).schemaInfo.revision", "a whole number")
            }
        default: throw Self.wrongType("\(place).schemaInfo", "an object")
        }
    }

    private static func nodes(
        _ json: JSONValue?, at place: String, depth: Int
    ) throws(MessageError) -> [Node] {
        switch json {
        case nil, .null: return []
        case .array(let values):
            var nodes: [Node] = []
            for (index, value) in values.enumerated() {
                nodes.append(try node(value, at: "\(place)[\(index)]", depth: depth + 1))
            }
            return nodes
        default: throw wrongType(place, "an array")
        }
    }

    private static func node(_ json: JSONValue, at place: String, depth: Int) throws(MessageError) -> Node {
        guard case .object(let fields) = json else { throw wrongType(place, "an object") }
        guard let identifier = try string(fields["identifier"], at: "\(place).identifier"), !identifier.isEmpty else {
            throw MessageError(.missingField, "\(place) has no identifier")
        }
        return Node(identifier: identifier, content: try content(json, fields, at: place, depth: depth))
    }

    private static func content(
        _ json: JSONValue, _ fields: [String: JSONValue], at place: String, depth: Int
    ) throws(MessageError) -> Content {
        if fields["stepHistory"] != nil { return .section(try TaskResults(json, at: place, depth: depth)) }
        if let results = fields["inputResults"] {
            return .collection(try nodes(results, at: "\(place).inputResults", depth: depth))
        }
        if let path = try string(fields["relativePath"], at: "\(place).relativePath") {
            // Files lie directly in the session's directory.
            guard !path.isEmpty, path.utf8.first != UInt8(ascii: "."), !path.utf8.contains(UInt8(ascii: "/")),
                !path.utf8.contains(0)
            else {
                throw MessageError(
                    .malformed, "\(place).relativePath '\(path)' is not a name of a file in the session's directory")
            }
            let date = try string(fields["startDate"], at: "\(place).startDate")
            var startDate: WallTime?
            if let date { startDate = try WallTime(iso8601: date) }
            return .file(
                File(
                    name: path, contentType: try string(fields["contentType"], at: "\(place).contentType"),
                    startDate: startDate))
        }
        if let value = fields["value"] { return .answer(value) }
        return .other
    }

    private static func string(_ json: JSONValue?, at place: String) throws(MessageError) -> String? {
        switch json {
        case nil, .null: nil
        case .string(let text): text
        default: throw wrongType(place, "a text")
        }
    }

    private static func wrongType(_ place: String, _ type: String) -> MessageError {
        MessageError(.wrongType, "\(place) is not \(type)")
    }
}
