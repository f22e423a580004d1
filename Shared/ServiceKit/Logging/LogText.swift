import Logging

/// Standard error for a log that people read: each write is one line, whatever its text contains.
///
/// Names and texts come from the wire. Unescaped, a device's name could contain a whole line that looks like the program's own,
/// or move a terminal's cursor.
package struct LogText: TextOutputStream, Sendable {
    package func write(_ line: String) {
        StandardStream.error.print(Self.escaped(line.hasSuffix("\n") ? line.dropLast() : line[...]) + "\n")
    }

    /// The text with control characters and other line ends escaped as in Swift: `\n`, `\u{1B}`.
    package static func escaped(_ text: Substring) -> String {
        var line = ""
        for character in text.unicodeScalars {
            switch character.properties.generalCategory {
            case .control, .lineSeparator, .paragraphSeparator: line += character.escaped(asASCII: true)
            default: line.unicodeScalars.append(character)
            }
        }
        return line
    }
}
