import Logging

/// Standard error for a log that people read: what is written at once is one line, whatever is in it.
///
/// Names and texts come from the wire. Without this a device's name could hold a line of its own, which nobody could tell from
/// the program's, or move a terminal's cursor.
struct LogText: TextOutputStream, Sendable {
    func write(_ line: String) {
        StandardStream.error.print(Self.escaped(line.hasSuffix("\n") ? line.dropLast() : line[...]) + "\n")
    }

    /// A text in which control characters, and what else ends a line, are written as Swift writes them: `\n`, `\u{1B}`.
    static func escaped(_ text: Substring) -> String {
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
