import ServiceKit
import SystemPackage

/// A small text file with secrets. Other users of this machine must not be able to read or change it.
enum SecretFile {
    /// Enough for any file of keys or headers. Protects against reading a recording into memory because of a wrong path.
    private static let maximumSize = 64 << 10

    /// The lines of the file, without empty lines and lines that begin with `#`.
    /// - Throws: `InvalidValue` with the file's name and none of its content.
    static func lines(of path: FilePath) throws(InvalidValue) -> [Substring] {
        let file: SmallFile
        do throws(Errno) {
            file = try SmallFile(path, limit: maximumSize)
        } catch {
            throw InvalidValue("\(path) \(error == .invalidArgument ? "is not a file" : "can't be read: \(error)")")
        }
        guard !file.isOpenToOthers else {
            throw InvalidValue("\(path) has secrets and is open to others: chmod 600 \(path)")
        }
        guard file.bytes.count <= maximumSize else {
            throw InvalidValue("\(path) is too large for a file of secrets: is it the right one?")
        }
        guard let text = String(validating: file.bytes, as: UTF8.self) else {
            throw InvalidValue("\(path) is not a text in UTF-8")
        }
        return text.split(whereSeparator: \.isNewline).map(\.trimmed).filter { !$0.isEmpty && $0.first != "#" }
    }
}

extension StringProtocol {
    /// The text without whitespace at both ends.
    var trimmed: SubSequence {
        var text = self[...]
        while text.first?.isWhitespace == true { text.removeFirst() }
        while text.last?.isWhitespace == true { text.removeLast() }
        return text
    }
}
