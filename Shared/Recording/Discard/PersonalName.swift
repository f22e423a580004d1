import Files
import Hashing

/// What stands for a session's or a device's name once it is discarded: the SHA-256 of the name, in lower-case hexadecimal
/// digits. The name can be people's own, so it stays nowhere; whoever knows it can still find out what became of it.
package struct PersonalName: Hashable, Sendable, Codable, CustomStringConvertible {
    package let digest: String

    package init(of name: String) { digest = SHA256.hash(data: name.utf8).hexDigits }

    /// - Returns: nil unless it is 64 lower-case hexadecimal digits.
    init?(digest: String) {
        guard digest.utf8.count == 2 * SHA256.byteCount, digest.hexBytes != nil, digest == digest.lowercased() else {
            return nil
        }
        self.digest = digest
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let name = Self(digest: try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "it is no SHA-256")
        }
        self = name
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(digest)
    }

    package var description: String { digest }
}
