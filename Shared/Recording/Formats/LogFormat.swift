/// What a log file's records look like.
///
/// Its raw value is the word that requests use, and the file extension.
package enum LogFormat: String, Codable, Sendable, CaseIterable {
    /// One JSON object per line, inside a root that makes the whole file one JSON value.
    case json
    /// Comma-separated values, quoted as RFC 4180 says, with a header.
    case csv
    case tsv

    /// The bytes in front of each record; in a JSON log, not in front of the first.
    package var separator: String {
        self == .json ? ",\n" : "\n"
    }

    var delimiter: UInt8 {
        self == .tsv ? UInt8(ascii: "\t") : UInt8(ascii: ",")
    }
}
