import Files
import Hashing

/// The name of a log, which is also the name of its files.
///
/// Made of any identifier by the ancestors' rule: "." and space become "_"; whatever is not a letter, a mark, a digit,
/// "-" or "_" goes; 24 characters stay. A name that is reserved, taken or empty gets "-" and four hexadecimal digits.
/// These come from the whole identifier, so that a program that starts anew finds the same name.
package struct LogName: Hashable, Sendable, Comparable, CustomStringConvertible {
    /// The name, fit for a file: no separators, never empty, at most 101 bytes of UTF-8.
    package let text: String

    /// The names of other files, of an archive or of a session's directory.
    private static let reserved: Set<String> = ["answers", "taskresult", "metadata", "session", "journal", "report"]

    private static let maximumCharacters = 24

    /// Keeps the longest name of a finished file within the 255 bytes that file systems allow: a character may be made
    /// of any number of combining marks.
    private static let maximumBytes = 96

    /// The name for `identifier`.
    /// - Parameter taken: the `folded` names of which none may be the same.
    package init(_ identifier: String, avoiding taken: Set<String> = []) {
        var name = String(Self.fitting(identifier).prefix(Self.maximumCharacters))
        while name.utf8.count > Self.maximumBytes { name.removeLast() }
        if FinishedNameReader.endsInStamp(name) {
            // It would be taken for a finished file of another log.
            name = String(name.map { $0 == "-" ? "_" : $0 })
        }
        var candidate = name
        var attempt = 0
        while candidate.isEmpty || Self.reserved.contains(candidate.lowercased())
            || taken.contains(candidate.lowercased())
        {
            let stem = name.isEmpty ? "log" : name
            candidate = "\(stem)-\(Self.digits(of: attempt == 0 ? identifier : "\(identifier)#\(attempt)"))"
            attempt += 1
        }
        text = candidate
    }

    package init(device: String, stream: String, avoiding taken: Set<String> = []) {
        self.init("\(device)_\(stream)", avoiding: taken)
    }

    /// The name that was read from a session's files, or `nil` if no log can have it.
    package init?(existing text: String) {
        guard !text.isEmpty, text.utf8.count <= Self.maximumBytes + 5, Self.fitting(text) == text,
            !Self.reserved.contains(text.lowercased())
        else { return nil }
        self.text = text
    }

    package var description: String { text }

    /// The same for all names that differ in upper and lower case only.
    package var folded: String { text.lowercased() }

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

    /// Letters, marks and numbers of any script, as Foundation's set of this name has them.
    private static func isAlphanumeric(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter, .nonspacingMark,
            .spacingMark, .enclosingMark, .decimalNumber, .letterNumber, .otherNumber:
            true
        default: false
        }
    }

    private static func digits(of identifier: String) -> String {
        SHA256.hash(data: Array(identifier.utf8)).prefix(2).hexDigits
    }
}

extension LogName: RawRepresentable, Codable {
    package var rawValue: String { text }

    package init?(rawValue: String) { self.init(existing: rawValue) }
}
