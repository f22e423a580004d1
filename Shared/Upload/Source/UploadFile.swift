import Files
import Recording
package import SystemPackage

/// A finished archive on this machine's disk, to be uploaded.
package struct UploadFile: Hashable, Sendable {
    let path: FilePath
    /// The file's name at the receiver: one component, such as `20261121-walk.zip`.
    package let name: String
    let bytes: Int
    /// The SHA-256 of its bytes, as 64 lower-case hexadecimal digits.
    let sha256: String

    /// The file must be complete and must not change.
    package init(path: FilePath, name: String, bytes: Int, sha256: String) {
        precondition(FilePath.Component(name)?.kind == .regular, "a name is one component")
        precondition(sha256.hexBytes?.count == 32, "a SHA-256 is 64 hexadecimal digits")
        self.path = path
        self.name = name
        self.bytes = bytes
        self.sha256 = sha256
    }

    /// The hash as bytes.
    var sha256Bytes: [UInt8] { sha256.hexBytes ?? [] }
}
