import Messages

/// The results of one session of many streams.
struct StreamsRow: Encodable {
    /// The directory of the programs: `now`, or `baseline`.
    var programs: String
    var streams: Int
    var wire: Wire.Kind
    var batch: Int
    var rate: Int
    var load: StreamsPlan.Load
    var seconds = 0.0
    /// Samples published while CPU was measured.
    var offeredPerSecond = 0.0
    /// Samples in the session's files, over the whole session.
    var storedPerSecond = 0.0
    var recovered = 0
    /// Samples reported as lost, and samples published within the session that the report does not account for.
    var lost = 0
    var unaccounted = 0
    /// CPU seconds per second.
    var recorderCores = 0.0
    var loadCores = 0.0
    /// All other processes of the machine.
    var otherCores = 0.0
    var recorderMegabytes = 0.0
    var loadMegabytes = 0.0
    /// The latency from publication to commit while CPU was measured, in seconds.
    var durableMedian = 0.0
    var durable99Percent = 0.0
    /// The same over the whole session, including its start.
    var commitLatency: SessionReport.Latency?
    /// Calls per second, if they were counted.
    var syncsPerSecond: Double?
    var writesPerSecond: Double?
    var megabytesWrittenPerSecond: Double?
    var meanSyncSeconds: Double?
    /// The largest delay of the generator's batches.
    var generatorLatenessSeconds: Double?
    /// The time from the request for the session's end to its answer.
    var stopSeconds = 0.0
    /// The verdict of `recorder verify`: whole, loss, damaged.
    var verdict = "–"
    var failures: [String] = []
    var loadAverage = 0.0

    init(_ plan: StreamsPlan, programs: String) {
        self.programs = programs
        streams = plan.streams
        wire = plan.wire
        batch = plan.batch
        rate = plan.rate
        load = plan.load
    }

    static let header = """
        | programs | streams | wire | batch | load | offered/s | stored/s | lost | recovered | recorder, cores | MB \
        | durable after ms: median | 99 % | of all | longest | syncs/s | writes/s | stop, s | verify | load, cores \
        | others, cores |
        | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
        """

    var line: String {
        func whole(_ number: Double?) -> String { number.map { Text.decimal($0, places: 0) } ?? "–" }
        func milliseconds(_ seconds: Double?) -> String { seconds.map { Text.decimal($0 * 1e3, places: 0) } ?? "–" }
        let cells = [
            programs, "\(streams)", wire.rawValue, "\(batch)", load.rawValue, whole(offeredPerSecond),
            whole(storedPerSecond), "\(lost + unaccounted)", "\(recovered)", Text.decimal(recorderCores),
            whole(recorderMegabytes), milliseconds(durableMedian), milliseconds(durable99Percent),
            milliseconds(commitLatency?.p99), milliseconds(commitLatency?.maximum), whole(syncsPerSecond),
            whole(writesPerSecond), Text.decimal(stopSeconds), verdict, Text.decimal(loadCores),
            Text.decimal(otherCores),
        ]
        return "| " + cells.joined(separator: " | ") + " |"
    }
}
