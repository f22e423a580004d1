import Messages
import SystemPackage

/// JSON in the form of a session's files: sorted keys, plain slashes, ISO 8601 dates.
package enum StoredJSON {
    package static func line(_ value: some Encodable) -> [UInt8] {
        encode(value, isPretty: false)
    }

    /// A value in a form for people, with a line end.
    package static func document(_ value: some Encodable) -> [UInt8] {
        encode(value, isPretty: true) + [UInt8(ascii: "\n")]
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
                advice: "It may have been changed by hand; the stream files next to it can be read without it.")
        }
    }

    private static func encode(_ value: some Encodable, isPretty: Bool) -> [UInt8] {
        do {
            return try JSONText.encode(value, isPretty: isPretty)
        } catch {
            preconditionFailure("Our own records can be encoded: \(error)")
        }
    }
}
