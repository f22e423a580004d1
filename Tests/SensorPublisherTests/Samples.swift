import PublisherCore
import SampleSources
import Testing

/// A sample, and when the sampler returned it.
struct TakenSample: Equatable {
    let takenAt: Int64
    let uptime: Double
    let values: [Double]
}

/// A sampler with its source, which is read whenever the sampler wants rows.
@dynamicMemberLookup
struct SourcedSampler {
    private var sampler: StreamSampler
    private var source: any SampleSource
    private var rows = SourceRows()

    init(source: any SampleSource, batch: Int = 1, speed: Double = 1) throws(PublisherError) {
        self.source = source
        sampler = try StreamSampler(of: source, batch: batch, speed: speed)
    }

    subscript<Value>(dynamicMember path: KeyPath<StreamSampler, Value>) -> Value { sampler[keyPath: path] }

    func lastSample(at now: Int64) -> Int64? { sampler.lastSample(at: now) }

    mutating func start(at now: Int64) throws(PublisherError) {
        if sampler.needsRewind { try source.rewind() }
        try sampler.start(at: now)
        read()
    }

    /// All complete batches, up to the one that reaches the limit of samples.
    mutating func advance(to now: Int64, limit: Int = 100_000) -> [RowBatch] {
        var batches: [RowBatch] = []
        var taken = 0
        while let deadline = sampler.nextDeadline, deadline <= now, taken < limit {
            if let batch = sampler.advance(to: now) {
                batches.append(batch)
                taken += batch.count
            }
            read()
        }
        return batches
    }

    mutating func flush(at now: Int64) -> RowBatch? { sampler.flush(at: now) }
    mutating func stop(at now: Int64) -> RowBatch? { sampler.stop(at: now) }

    /// Runs on the sampler's own deadlines, with a clock that jumps from one to the next, until `end` or the source's end.
    mutating func run(until end: Int64) -> [TakenSample] {
        var samples: [TakenSample] = []
        var now = Int64.min
        while let deadline = sampler.nextDeadline, deadline <= end {
            now = max(now, deadline)
            for batch in advance(to: now) { samples += batch.samples(takenAt: now) }
        }
        return samples
    }

    private mutating func read() {
        guard sampler.rowsWanted > 0 else { return }
        source.read(sampler.rowsWanted, into: &rows)
        sampler.take(&rows)
    }
}

extension StreamConfiguration {
    func makeSampler() throws(PublisherError) -> any Sampler { try makeSampler(of: try openSource()) }

    /// For a source other than standard input.
    func makeSourcedSampler() throws -> SourcedSampler {
        let source = try #require(try openSource())
        return try SourcedSampler(source: source, batch: batchSize(rate: source.rate), speed: speed)
    }
}

extension RowBatch {
    func samples(takenAt time: Int64) -> [TakenSample] {
        (0..<count).map { index in
            let row = rows[index * columns..<(index + 1) * columns]
            return TakenSample(takenAt: time, uptime: row.first ?? .nan, values: Array(row.dropFirst()))
        }
    }
}

extension SampleSource {
    /// The next `limit` samples, or as many as there are.
    mutating func samples(_ limit: Int = .max) throws -> [(time: Int64, values: [Double])] {
        var samples: [(Int64, [Double])] = []
        var row: [Double] = []
        while samples.count < limit, let time = try next(into: &row) {
            samples.append((time, row))
            row.removeAll()
        }
        return samples
    }
}
