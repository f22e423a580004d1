import Hashing
import Encryption

/// Chooses the names of an archive's files. Names are unique even on file systems that ignore case, valid on every file system,
/// and not reserved.
struct ArchiveNames {
    private let reserved: Set<String>
    private var taken: Set<String> = []

    init(reserved: some Sequence<String>) {
        self.reserved = Set(reserved.map { $0.lowercased() })
    }

    /// The name for a file in the archive: its own name, unless it contains characters with a special meaning on other systems,
    /// or is taken. A taken name gets "-" and four hexadecimal digits of its SHA-256.
    ///
    /// - Throws: `invalidParameter` if the name is reserved.
    mutating func name(for file: String) throws(ArchiveError) -> String {
        if reserved.contains(file.lowercased()) {
            throw ArchiveError(
                .invalidParameter,
                "\(file) can't be archived under this name, because the archive needs the name itself. Rename "
                    + "the file. The session is unchanged.", file: file)
        }
        let fitting = String(
            String.UnicodeScalarView(
                file.unicodeScalars.map { $0 < " " || $0 == "\u{7F}" || "\\/:".unicodeScalars.contains($0) ? "_" : $0 })
        )
        var name = fitting
        var attempt = 0
        while !taken.insert(Self.folded(name)).inserted || reserved.contains(name.lowercased()) {
            let (stem, ending) = Self.parts(of: fitting)
            name = "\(stem)-\(Self.digits(of: attempt == 0 ? file : "\(file)#\(attempt)"))\(ending)"
            attempt += 1
        }
        return name
    }

    /// A common form of names that differ only in case. Most names are in that form already, and share their memory.
    private static func folded(_ name: String) -> String {
        let lowercased = name.lowercased()
        return lowercased == name ? name : lowercased
    }

    private static func parts(of name: String) -> (stem: Substring, ending: Substring) {
        guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return (name[...], "") }
        return (name[..<dot], name[dot...])
    }

    private static func digits(of name: String) -> String {
        SHA256.hash(data: Array(name.utf8)).prefix(2).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
