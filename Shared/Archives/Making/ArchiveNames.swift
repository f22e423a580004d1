import Hashing
import Encryption

/// Gives the files of one archive their names: each its own, also where upper and lower case are the same, fit for every
/// file system, and none of the reserved ones.
struct ArchiveNames {
    private let reserved: Set<String>
    private var taken: Set<String> = []

    init(reserved: some Sequence<String>) {
        self.reserved = Set(reserved.map { $0.lowercased() })
    }

    /// The name in the archive for a file: its own, unless that has characters that mean something else elsewhere, or is
    /// taken. Then it gets "-" and four hexadecimal digits of its SHA-256.
    ///
    /// - Throws: `invalidParameter` if the name is reserved.
    mutating func name(for file: String) throws(ArchiveError) -> String {
        if reserved.contains(file.lowercased()) {
            throw ArchiveError(
                .invalidParameter,
                "\(file) can't be archived under this name, because the archive needs the name itself. Give it "
                    + "another one. The session is unchanged.", file: file)
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

    /// What names have in common that differ in their case alone. Most are that themselves, and share their memory.
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
