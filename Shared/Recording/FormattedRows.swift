/// What became of the rows of a batch.
package struct FormattedRows: Hashable, Sendable {
    /// How many were formatted as records.
    package var written = 0
    /// How many were left out because they were taken during a pause.
    package var paused = 0
    /// The uptime, in seconds of the publisher's clock, of the first that was written.
    package var firstUptime: Double?
    /// The uptime of the last that was written.
    package var lastUptime: Double?

    package init() {}
}
