/// The format of a stream file's records.
///
/// Its raw value is the word that requests use, and the file extension.
package enum LogFormat: RawRepresentable, Codable, Hashable, Sendable {
    /// One JSON object per line, inside a root that makes the whole file one JSON value.
    case json
    /// Comma-separated values, quoted according to RFC 4180, with a header.
    case csv
    case tsv
    /// A format that is not built in.
    case added(AddedFormat)

    /// The built-in formats.
    package static let allCases: [LogFormat] = [.json, .csv, .tsv]

    /// All formats that files can have: the built-in ones, and those that were added.
    package static var known: [LogFormat] { allCases + AddedFormat.all.map(LogFormat.added) }

    /// The words of all formats, for messages.
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

    // The default comparison, by raw values, would cost time for each value that is written.
    package static func == (one: LogFormat, other: LogFormat) -> Bool {
        switch (one, other) {
        case (.json, .json), (.csv, .csv), (.tsv, .tsv): true
        case (.added(let one), .added(let other)): one == other
        default: false
        }
    }

    /// Whether records are rows under a header. Records of other formats are read as JSON objects.
    package var isTable: Bool { self == .csv || self == .tsv }

    /// Writes and reads records in an added format; nil for a built-in one.
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
