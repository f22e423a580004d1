import Glibc
import ServiceKit
import SystemPackage

/// A small text file with secrets, which others on this machine must not be able to read or change.
enum SecretFile {
    /// More than any file of keys or headers; a wrong path to a recording must not be read into memory.
    private static let maximumSize = 64 << 10

    /// The lines of the file, without those that are empty or begin with `#`.
    /// - Throws: `InvalidValue` with a sentence that names the file, and nothing that is in it.
    static func lines(of path: FilePath) throws(InvalidValue) -> [Substring] {
        let text: String
        do {
            text = try read(path)
        } catch let error as InvalidValue {
            throw error
        } catch {
            throw InvalidValue("\(path) can't be read: \(error)")
        }
        return text.split(whereSeparator: \.isNewline).map(\.trimmed).filter { !$0.isEmpty && $0.first != "#" }
    }

    private static func read(_ path: FilePath) throws -> String {
        let file = try FileDescriptor.open(path, .readOnly, options: [.closeOnExec, .nonBlocking])
        return try file.closeAfter {
            let status = try file.stat()
            guard status.type == .regular else { throw InvalidValue("\(path) is not a file") }
            // Group readers are allowed: an orchestrator gives secrets to a container's user that way.
            guard status.permissions.isDisjoint(with: [.otherReadWriteExecute, .groupWrite]) else {
                throw InvalidValue("\(path) has secrets and is open to others: chmod 600 \(path)")
            }
            guard status.size <= maximumSize else {
                throw InvalidValue("\(path) is too large for a file of secrets: is it the right one?")
            }
            var bytes: [UInt8] = []
            while bytes.count <= maximumSize {
                let piece = try [UInt8](unsafeUninitializedCapacity: 1 << 12) { buffer, count in
                    count = try file.read(into: UnsafeMutableRawBufferPointer(buffer))
                }
                if piece.isEmpty { break }
                bytes += piece
            }
            guard let text = String(validating: bytes, as: UTF8.self) else {
                throw InvalidValue("\(path) is not a text in UTF-8")
            }
            return text
        }
    }
}

extension StringProtocol {
    /// Without blanks at both ends.
    var trimmed: SubSequence {
        var text = self[...]
        while text.first?.isWhitespace == true { text.removeFirst() }
        while text.last?.isWhitespace == true { text.removeLast() }
        return text
    }
}
