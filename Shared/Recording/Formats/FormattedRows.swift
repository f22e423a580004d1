package struct FormattedRows: Hashable, Sendable {
    /// A written row that follows rows that were left out.
    package struct Place: Hashable, Sendable {
        /// The index of the row in the batch.
        package var row: Int
        /// How many of the requested rows were written before it.
        package var written: Int
    }

    /// The uptimes of the rows that were formatted as records, in seconds of the publisher's clock. The formatter reuses the
    /// memory for the next batch if there is no other reference to it.
    package internal(set) var uptimes: [Double] = []
    package internal(set) var paused = 0
    /// Where written rows do not follow each other: empty for a batch without a pause. The first requested row counts as
    /// following the previous one.
    package internal(set) var places: [Place] = []
    package internal(set) var endsPaused = false

    package var written: Int { uptimes.count }
    /// The first uptime that is a number (and below, the last one): a source may have a sample without a time.
    package var firstUptime: Double? { uptimes.first(where: \.isFinite) }
    package var lastUptime: Double? { uptimes.last(where: \.isFinite) }
}
