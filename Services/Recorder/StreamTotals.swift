import Messages

/// What sessions had of their streams, in all.
struct StreamTotals {
    /// Of one stream.
    struct Counts {
        var received = 0
        var recovered = 0
        var lost = 0
        var paused = 0
        var duplicates = 0
        var gaps = 0
        var bytes = 0
    }

    /// Streams that are told apart; those that come after them are counted as one.
    private static let maximumStreams = 4_096
    /// The name of the others.
    private static let others = StreamName(device: "other", stream: "other")

    /// By stream.
    private(set) var streams: [StreamName: Counts] = [:]

    /// Adds what a session had.
    mutating func add(_ report: SessionReport) {
        for stream in report.streams {
            let isTold = streams[stream.stream] != nil || streams.count < Self.maximumStreams
            let name = isTold ? stream.stream : Self.others
            var counts = streams[name] ?? Counts()
            counts.received += stream.received
            counts.recovered += stream.recovered
            // As many as a publisher may say, which can be more than there are numbers.
            counts.lost = counts.lost.addingClamped(stream.lost)
            counts.paused += stream.paused
            counts.duplicates += stream.duplicates
            counts.gaps += stream.gaps.count
            counts.bytes += stream.bytes
            streams[name] = counts
        }
    }
}
