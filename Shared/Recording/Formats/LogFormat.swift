/// What a log file's records look like.
///
/// Its raw value is the word that requests use, and the file extension.
package enum LogFormat: RawRepresentable, Codable, Hashable, Sendable {
    /// One JSON object per line, inside a root that makes the whole file one JSON value.
    case json
    /// Comma-separated values, quoted as RFC 4180 says, with a header.
    case csv
    case tsv
    /// One that is not built in.
    case added(AddedFormat)

    /// The built-in formats.
    package static let allCases: [LogFormat] = [.json, .csv, .tsv]

    /// All formats that files can have: the built-in ones, and those that were added.
    package static var known: [LogFormat] { allCases + AddedFormat.all.map(LogFormat.added) }

    /// Their words, for people.
    package static var words: String { known.map(\.rawValue).joined(separator: ", ") }

    package init?(rawValue: String) {
        switch rawValue {
        case "json": self = .json
        case "csv": self = .csv
        case "tsv": self = .tsv
        default:
            guard let added = AddedFormat(name: rawValue) else { return nil }
            self = .added(added)
        }
    }

    package var rawValue: String {
        switch self {
        case .json: "json"
        case .csv: "csv"
        case .tsv: "tsv"
        case .added(let added): added.formatter.name
        }
    }

    // By their words, as every RawRepresentable is compared, would cost time for each value that is written.
    package static func == (one: LogFormat, other: LogFormat) -> Bool {
        switch (one, other) {
        case (.json, .json), (.csv, .csv), (.tsv, .tsv): true
        case (.added(let one), .added(let other)): one == other
        default: false
        }
    }

    /// Whether records are rows under a header. Records of other formats are read as JSON objects.
    package var isTable: Bool { self == .csv || self == .tsv }

    /// What writes and reads records in a format that is not built in.
    package var formatter: (any LogFormatter)? {
        if case .added(let added) = self { added.formatter } else { nil }
    }

    /// The bytes in front of each record; in a JSON log, not in front of the first.
    package var separator: String {
        self == .json ? ",\n" : "\n"
    }

    var delimiter: UInt8 {
        self == .tsv ? UInt8(ascii: "\t") : UInt8(ascii: ",")
    }
}
