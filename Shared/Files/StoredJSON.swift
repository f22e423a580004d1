import FoundationEssentials
import Messages
import SystemPackage

/// JSON as it is kept in a session's directory: sorted keys, plain slashes, ISO 8601 dates.
package enum StoredJSON {
    package static func line(_ value: some Encodable) -> [UInt8] {
        encode(value, [.sortedKeys, .withoutEscapingSlashes])
    }

    /// A value for people to look at, with a line end.
    package static func document(_ value: some Encodable) -> [UInt8] {
        encode(value, [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]) + [UInt8(ascii: "\n")]
    }

    package static func read<Value: Decodable>(
        _ type: Value.Type, from name: String, in directory: Directory
    ) throws(RecordingError) -> Value {
        let bytes = try directory.read(name)
        do {
            return try WireCoding.decode(type, from: bytes)
        } catch {
            throw RecordingError(
                .unreadable, action: "read", path: directory.path.appending(name), reason: "\(error)",
                advice: "Somebody may have changed it; the logs beside it can be read without it.")
        }
    }

    private static func encode(_ value: some Encodable, _ formatting: JSONEncoder.OutputFormatting) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = formatting
        encoder.nonConformingFloatEncodingStrategy = .convertToString(
            positiveInfinity: "Infinity", negativeInfinity: "-Infinity", nan: "NaN")
        do {
            return Array(try encoder.encode(value))
        } catch {
            preconditionFailure("Our own records can be encoded: \(error)")
        }
    }
}
