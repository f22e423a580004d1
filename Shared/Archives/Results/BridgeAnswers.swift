import Messages

/// Answers in the form of Bridge's third version, with arrays as comma-separated text, and the schema of the answers.
struct BridgeAnswers {
    private let answers: ArchiveAnswers

    init(_ answers: ArchiveAnswers) {
        self.answers = answers
    }

    var json: JSONValue { object { Self.flattened($0) } }

    /// The contents of `answers_schema.json`: a JSON schema of the answers.
    var schema: JSONValue {
        .object([
            "$schema": .string("http://json-schema.org/draft-07/schema#"), "type": .string("object"),
            "properties": object { .object(["type": .string(Self.type(of: $0))]) },
        ])
    }

    private func object(_ body: (JSONValue) -> JSONValue) -> JSONValue {
        .object(Dictionary(answers.answers.map { ($0.key, body($0.value)) }) { first, _ in first })
    }

    private static func flattened(_ value: JSONValue) -> JSONValue {
        guard case .array(let items) = value else { return value }
        return .string(items.map { text($0) }.joined(separator: ","))
    }

    private static func text(_ value: JSONValue) -> String {
        switch value {
        case .string(let text): text
        case .integer(let number): "\(number)"
        case .number(let number): "\(number)"
        case .boolean(let flag): "\(flag)"
        case .null: ""
        case .array, .object: String(decoding: (try? WireCoding.encode(value)) ?? [], as: UTF8.self)
        }
    }

    private static func type(of value: JSONValue) -> String {
        switch value {
        case .null: "null"
        case .boolean: "boolean"
        case .integer: "integer"
        case .number: "number"
        case .string, .array: "string"
        case .object: "object"
        }
    }
}
