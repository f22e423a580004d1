package struct FormattedRows: Hashable, Sendable {
    /// A written row that follows on rows that were left out.
    package struct Place: Hashable, Sendable {
        /// The row, by its number in the batch.
        package var row: Int
        /// How many rows were written before it, of those asked for.
        package var written: Int
    }

    /// The uptimes of the rows that were formatted as records, in seconds of the publisher's clock. The formatter uses
    /// the memory again for the next batch, if nobody else holds it any more.
    package internal(set) var uptimes: [Double] = []
    package internal(set) var paused = 0
    /// Where the rows that were written do not follow on one another: empty for a batch without a pause. The first row
    /// asked for follows on nothing that was left out.
    package internal(set) var places: [Place] = []
    package internal(set) var endsPaused = false

    package var written: Int { uptimes.count }
    /// The first and the last uptime that is a number: a source may have a sample without a time.
    package var firstUptime: Double? { uptimes.first(where: \.isFinite) }
    package var lastUptime: Double? { uptimes.last(where: \.isFinite) }
}
