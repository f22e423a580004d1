struct PublisherRow: Encodable {
    /// The directory of the programs: `now`, or `baseline`.
    var programs: String
    var streams: Int
    var wire: Wire.Kind
    var batch: Int
    var rate: Int
    /// CPU seconds per second: the publisher's, the subscriber's and those of all other processes.
    var publisherCores: Double
    var readerCores: Double
    var otherCores: Double
    var publisherMegabytes: Double
    /// Messages that the subscriber received, and the expected number.
    var messagesPerSecond: Double
    var messagesDuePerSecond: Double

    static let header = """
        | programs | streams | wire | batch | publisher, cores | MB | messages/s | due/s | others, cores |
        | --- | --- | --- | --- | --- | --- | --- | --- | --- |
        """

    var line: String {
        let cells = [
            programs, "\(streams)", wire.rawValue, "\(batch)", Text.decimal(publisherCores),
            Text.decimal(publisherMegabytes, places: 0), Text.decimal(messagesPerSecond, places: 0),
            Text.decimal(messagesDuePerSecond, places: 0), Text.decimal(otherCores),
        ]
        return "| " + cells.joined(separator: " | ") + " |"
    }
}
