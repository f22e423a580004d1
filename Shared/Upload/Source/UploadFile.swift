import Files
import Recording
package import SystemPackage

/// A finished archive on this machine's disk, to be brought to a receiver.
package struct UploadFile: Hashable, Sendable {
    /// Where it is.
    let path: FilePath
    /// What it is called at the receiver: one component, `20261121-walk.zip`.
    package let name: String
    /// How long it is.
    let bytes: Int
    /// The SHA-256 of its bytes, as 64 lower-case hexadecimal digits.
    let sha256: String

    /// A file that is there, whole, and stays as it is.
    package init(path: FilePath, name: String, bytes: Int, sha256: String) {
        precondition(FilePath.Component(name)?.kind == .regular, "a name is one component")
        precondition(sha256.hexBytes?.count == 32, "a SHA-256 is 64 hexadecimal digits")
        self.path = path
        self.name = name
        self.bytes = bytes
        self.sha256 = sha256
    }

    /// The hash itself.
    var sha256Bytes: [UInt8] { sha256.hexBytes ?? [] }
}
