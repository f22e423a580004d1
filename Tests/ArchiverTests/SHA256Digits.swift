import Hashing
import Files
import Recording

enum SHA256Digits {
    /// SHA-256 in lower-case hexadecimal digits.
    static func of(_ bytes: [UInt8]) -> String { SHA256.hash(data: bytes).hexDigits }
}
