import ArgumentParser
import Messages

/// The encoding of samples in a measurement, and the batch size.
struct Wire: Sendable {
    enum Kind: String, ExpressibleByArgument, Codable, Sendable {
        case packed, json
    }

    static let device = "bench"
    static let stream = "motion"
    static let task = "Bench"
    static let step = "run"
    static let epoch = "5C2B6E0A-7D1F-4B57-9D39-2F2F6E1B0C4E"
    /// A sample is eight numbers: 64 bytes packed.
    static let fields = ["uptime", "ax", "ay", "az", "gx", "gy", "gz", "temperature"]
    static let topic = "samples/\(device)/\(stream)"

    let kind: Kind
    let batch: Int

    /// Rows with all 17 digits, as sensors and arithmetic produce them.
    static func rows(_ count: Int, from sequence: Int) -> [Double] {
        var generator = SystemRandomNumberGenerator()
        var rows: [Double] = []
        for row in 0..<count {
            rows.append(Double(1_000_000_000_000 + (sequence + row) * 10_000_000) / 1e9)
            for _ in 1..<fields.count { rows.append(Double.random(in: -2...2, using: &generator)) }
        }
        return rows
    }

    static func description(nextSequence: Int, isPacked: Bool, replay: String) -> StreamDescription {
        StreamDescription(
            source: "benchmarks", sequence: 0, device: device, stream: stream, epoch: epoch, state: .running,
            fields: fields, packed: isPacked, nextSequence: nextSequence, replay: replay,
            clock: ClockReading(uptime: 1_000, date: .now))
    }
}
