package import Messages

/// The first 1,024 bytes of a `.cwa` file: the device, and a description of the recording.
///
/// openmovement, Docs/ax3/ax3-technical.md and cwa.h.
package struct AxivityHeader: Hashable, Sendable {
    package static let byteCount = 1024

    /// `AX3` or `AX6`.
    package let model: String
    package let identifier: Int
    package let session: Int
    /// The description entered for the recording, by key.
    package let annotation: [String: String]

    /// - Returns: nil if the bytes are not a header.
    package init?(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count >= Self.byteCount, bytes[0] == UInt8(ascii: "M"), bytes[1] == UInt8(ascii: "D"),
            bytes.integer(UInt16.self, at: 2) == 1020
        else { return nil }
        model = bytes[4] == 0x64 ? "AX6" : "AX3"
        let upper = bytes.integer(UInt16.self, at: 11)
        identifier = Int(bytes.integer(UInt16.self, at: 5)) + (upper == 0xFFFF ? 0 : Int(upper) << 16)
        session = Int(bytes.integer(UInt32.self, at: 7))
        var annotation: [String: String] = [:]
        let text = bytes[64..<512].prefix { $0 != 0 && $0 != 0xFF }
        for part in text.split(separator: UInt8(ascii: "&")) {
            let pair = part.split(separator: UInt8(ascii: "="), maxSplits: 1).map(Self.text)
            if pair.count == 2, !pair[0].isEmpty, !pair[1].isEmpty { annotation[pair[0]] = pair[1] }
        }
        self.annotation = annotation
    }

    /// The participant's sex, height, weight, handedness and notes.
    private static let personal: Set = ["_se", "_h", "_w", "_ha", "_sn"]

    /// The header's values, for a session's keys, without personal details: archives and uploads contain the keys.
    package var keys: [String: JSONValue] {
        var keys: [String: JSONValue] = [
            "model": .string(model), "identifier": .integer(identifier), "session": .integer(session),
        ]
        let annotation = annotation.filter { !Self.personal.contains($0.key) }
        if !annotation.isEmpty { keys["annotation"] = .object(annotation.mapValues { .string($0) }) }
        return keys
    }

    /// URL-encoded text, padded with spaces.
    private static func text(_ bytes: UnsafeRawBufferPointer.SubSequence) -> String {
        var text: [UInt8] = []
        var rest = bytes
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), rest.count >= 2,
                let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
            {
                text.append(value)
                rest = rest.dropFirst(2)
            } else {
                text.append(byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
            }
        }
        while text.last == UInt8(ascii: " ") { text.removeLast() }
        return String(decoding: text, as: UTF8.self)
    }
}
