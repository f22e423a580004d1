import ArgumentParser
import Recording

enum ReportFormat: String, CaseIterable, ExpressibleByArgument {
    /// Aligned columns, for people.
    case text
    /// The reply as one JSON value.
    case json
    /// Comma-separated values with a header (RFC 4180).
    case csv
    /// A JSON object per line.
    case ndjson
}

extension ReportTable {
    /// The table in a format.
    /// - Parameter values: the values of the rows, for JSON: one a line.
    func text(_ format: ReportFormat, values: [some Encodable]) throws -> String {
        switch format {
        case .text: text
        case .csv: csv
        case .ndjson, .json: try values.map { try Self.json($0) }.joined()
        }
    }
}
