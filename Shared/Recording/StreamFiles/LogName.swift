import Files
import Hashing

/// The name of a log, which is also the name of its files.
///
/// Made from a stream's name by the ancestors' rule: "." and space become "_"; characters other than letters, marks, digits, "-"
/// and "_" are removed. Names up to `maximumBytes` are not cut. A name that is cut, reserved, taken or empty gets "-" and four
/// hexadecimal digits. The digits come from the whole identifier, so that a restarted program finds the same name, and so that a
/// log never has the name of another stream that begins alike.
package struct LogName: Hashable, Sendable, Comparable, CustomStringConvertible {
    /// The name, fit for a file: no separators, never empty, at most 206 bytes of UTF-8.
    package let text: String

    /// Names of other files in an archive or a session's directory.
    private static let reserved: Set<String> = ["answers", "taskresult", "metadata", "session", "journal", "report"]

    /// Two names of 100 bytes and the character between them. With digits, a stamp, a count and an extension, that is 236 bytes;
    /// file systems allow 255.
    private static let maximumBytes = 201

    /// The name for `identifier`.
    /// - Parameter taken: `folded` names that the new one must differ from.
    package init(_ identifier: String, avoiding taken: Set<String> = []) {
        self.init(identifier, of: identifier, avoiding: taken)
    }

    /// The name for a stream's log.
    package init(device: String, stream: String, avoiding taken: Set<String> = []) {
        self.init("\(device)_\(stream)", of: "\(device)/\(stream)", avoiding: taken)
    }

    /// - Parameter whole: distinguishes identifiers whose `wanted` may be equal.
    private init(_ wanted: String, of whole: String, avoiding taken: Set<String>) {
        var name = Self.fitting(wanted)
        let isCut = name.utf8.count > Self.maximumBytes
        while name.utf8.count > Self.maximumBytes { name.removeLast() }
        if FinishedNameReader.endsInStamp(name) {
            // The name would be taken for that of another log's finished file.
            name = String(name.map { $0 == "-" ? "_" : $0 })
        }
        let stem = name.isEmpty ? "log" : name
        var candidate = isCut || name.isEmpty ? "\(stem)-\(Self.digits(of: whole))" : name
        var attempt = 0
        while Self.reserved.contains(candidate.lowercased()) || taken.contains(Self.folded(candidate)) {
            candidate = "\(stem)-\(Self.digits(of: attempt == 0 ? whole : "\(whole)#\(attempt)"))"
            attempt += 1
        }
        text = candidate
    }

    /// The name of a log, read from a session's files; `nil` if no log can have it.
    package init?(existing text: String) {
        guard !text.isEmpty, Self.canContain(text), !Self.reserved.contains(text.lowercased()),
            !FinishedNameReader.endsInStamp(text)
        else { return nil }
        self.text = text
    }

    /// The log of a file that is being written; `nil` if `fileName` can't produce this name.
    init?(ofFile name: String, _ format: LogFormat) {
        let ending = ".\(format.rawValue)"
        guard name.hasSuffix(ending) else { return nil }
        self.init(existing: String(name.dropLast(ending.count)))
    }

    /// Whether a name may be that of a stream's log or file: it has "_" between device and stream. A file that a client adds to a
    /// session has none, if it ends like a stream's file.
    package static func mayBeStream(_ name: String) -> Bool { name.utf8.contains(UInt8(ascii: "_")) }

    /// Whether a log can have a name with these characters in it.
    package static func canContain(_ text: String) -> Bool {
        text.utf8.count <= maximumBytes + 5 && fitting(text) == text
    }

    package var description: String { text }

    /// Equal for all names that a file system may regard as the same: names that differ only in case, or in how letters and marks
    /// are composed, which strings compare as equal.
    package var folded: String { Self.folded(text) }

    package func fileName(_ format: LogFormat) -> String {
        "\(text).\(format.rawValue)"
    }

    package static func < (one: LogName, other: LogName) -> Bool {
        one.text < other.text
    }

    private static func fitting(_ identifier: String) -> String {
        var result = String.UnicodeScalarView()
        for scalar in identifier.unicodeScalars {
            switch scalar {
            case ".", " ", "_": result.append("_")
            case "-": result.append("-")
            default: if isAlphanumeric(scalar) { result.append(scalar) }
            }
        }
        return String(result)
    }

    /// Letters, marks and numbers of any script, as in Foundation's `CharacterSet.alphanumerics`.
    private static func isAlphanumeric(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter, .nonspacingMark,
            .spacingMark, .enclosingMark, .decimalNumber, .letterNumber, .otherNumber:
            true
        default: false
        }
    }

    /// Upper case in between: some file systems regard "ẞ", "ß" and "ss" as the same.
    private static func folded(_ text: String) -> String { text.lowercased().uppercased().lowercased() }

    private static func digits(of identifier: String) -> String {
        SHA256.hash(data: Array(identifier.utf8)).prefix(2).hexDigits
    }
}

extension LogName: RawRepresentable, Codable {
    package var rawValue: String { text }

    package init?(rawValue: String) { self.init(existing: rawValue) }
}
