import ArgumentParser

enum StepReportFormat: String, CaseIterable, ExpressibleByArgument {
    /// Aligned columns, for people.
    case text
    /// One JSON value.
    case json
    /// Comma-separated values with a header (RFC 4180).
    case csv
}
