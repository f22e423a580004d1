import ArgumentParser

struct StreamsOptions: ParsableArguments {
    @Option(help: "How many streams, separated by commas: 1,10,100.")
    var streams: CommaList<Int>?

    @Option(help: "How samples travel: packed,json.")
    var wire: CommaList<Wire.Kind>?

    @Option(help: "Samples a message, separated by commas: 1,10,100.")
    var batch: CommaList<Int>?

    @Option(help: "Samples a second of each stream.")
    var rate = 100

    @Option(help: "Seconds that are measured, after 3 seconds in which the session settles.")
    var seconds = 10

    @Option(help: "Who publishes: publisher or generator (default: the publisher while it is not the limit).")
    var load: StreamsPlan.Load?

    @Flag(help: "Measure all counts of streams, both wires, and batches of 1, 10 and 100.")
    var all = false

    private static let counts = [1, 10, 100, 300, 1_000, 3_000, 5_000]

    func validate() throws {
        guard rate > 0, seconds > 0 else { throw ValidationError("--rate and --seconds are 1 or more") }
        guard ((streams?.elements ?? []) + (batch?.elements ?? [])).allSatisfy({ $0 > 0 }) else {
            throw ValidationError("--streams and --batch are 1 or more")
        }
    }

    /// The rows in the order in which they are measured.
    var plans: [StreamsPlan] {
        var rows: [(streams: Int, wire: Wire.Kind, batch: Int)] = []
        if all || streams != nil || wire != nil || batch != nil {
            for wire in wire?.elements ?? (all ? [.packed, .json] : [.packed]) {
                for batch in batch?.elements ?? (all ? [1, 10, 100] : [10]) {
                    for count in streams?.elements ?? Self.counts { rows.append((count, wire, batch)) }
                }
            }
        } else {
            rows = Self.counts.map { ($0, .packed, 10) }
            rows += [(100, .json, 10), (1_000, .json, 10), (10, .packed, 1), (100, .packed, 1), (1_000, .packed, 100)]
        }
        return rows.map { row in
            StreamsPlan(
                streams: row.streams, wire: row.wire, batch: row.batch, rate: rate,
                load: load ?? StreamsPlan.load(streams: row.streams, batch: row.batch, rate: rate), seconds: seconds)
        }
    }
}
