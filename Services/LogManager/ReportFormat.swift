import ArgumentParser

/// How a report is printed.
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
