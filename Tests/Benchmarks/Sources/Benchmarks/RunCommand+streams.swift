extension RunCommand {
    /// Prints a table of sessions with many streams; a row that fails is reported, and the next one measured.
    func streams(_ benches: [Bench], _ results: Results) async throws {
        Standard.print(StreamsRow.header)
        for plan in streams.plans {
            for bench in benches {
                do {
                    let row = try await bench.streams(plan)
                    Standard.print(row.line)
                    for failure in row.failures.prefix(3) { Standard.print("the session failed: \(failure)") }
                    try results.add(row)
                } catch {
                    var row = StreamsRow(plan, programs: bench.name)
                    row.verdict = "failed"
                    row.failures = ["\(error)"]
                    Standard.print(row.line)
                    Standard.print("the measurement failed: \(error)")
                    try results.add(row)
                }
            }
        }
    }

    /// The cost of sensor-publisher for streams of sines in packed batches of 10, with one subscriber.
    func publisher(_ benches: [Bench], _ results: Results) async throws {
        Standard.print(PublisherRow.header)
        let batch = streams.batch?.elements ?? [10]
        for wire in streams.wire?.elements ?? [.packed] {
            for count in streams.streams?.elements ?? [500, 1_000] {
                for batch in batch {
                    for bench in benches {
                        let plan = StreamsPlan(
                            streams: count, wire: wire, batch: batch, rate: streams.rate,
                            load: streams.load ?? .publisher, seconds: streams.seconds)
                        let row = try await bench.publisherCost(plan)
                        Standard.print(row.line)
                        try results.add(row)
                    }
                }
            }
        }
    }
}
