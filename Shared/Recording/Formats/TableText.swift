package enum TableText {
    /// `text` unchanged, or in quotes with inner quotes doubled if it has the delimiter, quotes or line ends.
    ///
    /// NUL becomes the replacement character: a table can't hold it, and a power cut may leave it in unwritten pages.
    package static func quoted(_ text: String, delimiter: UInt8) -> String {
        let text = text.utf8.contains(0) ? text.replacing("\0", with: "\u{FFFD}") : text
        let needsQuotes = text.utf8.contains { byte in
            byte == delimiter || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r")
        }
        guard needsQuotes else { return text }
        var result = "\""
        for scalar in text.unicodeScalars {
            if scalar == "\"" { result += "\"" }
            result.unicodeScalars.append(scalar)
        }
        return result + "\""
    }

    /// A field's text, without the quotes around it and with inner quotes single.
    package static func unquoted(_ field: UnsafeRawBufferPointer) -> String {
        guard field.first == UInt8(ascii: "\""), field.count >= 2 else { return String(decoding: field, as: UTF8.self) }
        // By bytes: as a Character, a quote with a combining mark is no quote.
        var bytes: [UInt8] = []
        var isAfterQuote = false
        for byte in field.dropFirst().dropLast() {
            let isSecond = isAfterQuote && byte == UInt8(ascii: "\"")
            isAfterQuote = byte == UInt8(ascii: "\"") && !isSecond
            if !isSecond { bytes.append(byte) }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
