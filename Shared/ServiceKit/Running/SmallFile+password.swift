package import SystemPackage

extension SmallFile {
    /// The maximum length of a password, in bytes.
    private static let longestPassword = 4_096

    /// Reads a password: the first line of a file that others can't read.
    /// - Parameter option: the option that names the file, for errors.
    /// - Throws: `ServiceError` (bad configuration), which names the file and none of its contents.
    package static func password(in path: FilePath, option: String) throws(ServiceError) -> String {
        let file: SmallFile
        do throws(Errno) {
            file = try SmallFile(path, limit: longestPassword)
        } catch {
            throw ServiceError(.badConfiguration, "\(option) \(path) can't be read: \(error)")
        }
        guard !file.isOpenToOthers else {
            throw ServiceError(.badConfiguration, "\(option) \(path) is open to others: chmod 600 \(path)")
        }
        let text = String(decoding: file.bytes.prefix { $0 != 10 && $0 != 13 }, as: UTF8.self)
        guard !text.isEmpty, file.bytes.count <= longestPassword else {
            throw ServiceError(.badConfiguration, "\(option) \(path) has no password in its first line")
        }
        return text
    }
}
