import Logging
import Messages

/// A log line as JSON:
/// `{"timestamp":"2026-11-21T08:08:27.573Z","level":"notice","program":"recorder","message":"started","session":"s1"}`.
///
/// Metadata are fields of the same object; a key that equals a standard field gets the prefix `metadata.`. Values are text, as
/// the log has them, but lists and dictionaries are JSON's.
struct LogLine {
    /// The standard fields of every line.
    private static let ownFields: Set = ["timestamp", "level", "program", "message"]

    let date: WallTime
    let level: Logger.Level
    let program: String
    let message: String
    let metadata: Logger.Metadata

    init(
        at date: WallTime = .now, level: Logger.Level, program: String, message: String,
        metadata: Logger.Metadata = [:]
    ) {
        self.date = date
        self.level = level
        self.program = program
        self.message = message
        self.metadata = metadata
    }

    /// The object and its line break. Whatever the texts contain, there is no other line break and no other object.
    var bytes: [UInt8] {
        var text = ByteBuffer(capacity: 256)
        text.append(utf8: "{\"timestamp\":\"\(date.text(in: 0))\",\"level\":\"\(level.rawValue)\",\"program\":")
        text.append(jsonString: program)
        text.append(utf8: ",\"message\":")
        text.append(jsonString: message)
        for (key, value) in metadata.sorted(by: { $0.key < $1.key }) {
            text.append(utf8: ",")
            text.append(jsonString: Self.ownFields.contains(key) ? "metadata.\(key)" : key)
            text.append(utf8: ":")
            Self.append(value, to: &text)
        }
        text.append(utf8: "}\n")
        return text.withUnsafeBytes { Array($0) }
    }

    private static func append(_ value: Logger.MetadataValue, to text: inout ByteBuffer) {
        switch value {
        case .string(let string): text.append(jsonString: string)
        case .stringConvertible(let value): text.append(jsonString: "\(value)")
        case .array(let values):
            text.append(utf8: "[")
            for (index, value) in values.enumerated() {
                if index > 0 { text.append(utf8: ",") }
                append(value, to: &text)
            }
            text.append(utf8: "]")
        case .dictionary(let entries):
            text.append(utf8: "{")
            for (index, entry) in entries.sorted(by: { $0.key < $1.key }).enumerated() {
                if index > 0 { text.append(utf8: ",") }
                text.append(jsonString: entry.key)
                text.append(utf8: ":")
                append(entry.value, to: &text)
            }
            text.append(utf8: "}")
        }
    }
}
