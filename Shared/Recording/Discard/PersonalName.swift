import Files
import Hashing

/// Replaces the name of a session or device once it is discarded: the name's SHA-256 in lower-case hexadecimal digits. A name can
/// identify a person, so it is kept nowhere; anybody who knows it can still look it up.
package struct PersonalName: Hashable, Sendable, Codable, CustomStringConvertible {
    package let digest: String

    package init(of name: String) { digest = SHA256.hash(data: name.utf8).hexDigits }

    /// - Returns: nil unless `digest` has 64 lower-case hexadecimal digits.
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
