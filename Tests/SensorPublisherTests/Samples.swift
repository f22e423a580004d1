import SensorPublisher

/// One sample and when it came out of a sampler.
struct TakenSample: Equatable {
    let takenAt: Int64
    let uptime: Double
    let values: [Double]
}

extension StreamSampler {
    /// Lives by the sampler's own deadlines, on a clock that jumps from one to the next, until `end` or the source's end.
    mutating func run(until end: Int64) -> [TakenSample] {
        var samples: [TakenSample] = []
        var now = Int64.min
        while let deadline = nextDeadline, deadline <= end {
            now = max(now, deadline)
            for batch in advance(to: now) { samples += batch.samples(takenAt: now) }
        }
        return samples
    }
}

extension SampledBatch {
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
