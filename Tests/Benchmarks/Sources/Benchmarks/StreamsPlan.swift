import ArgumentParser

/// One row of the streams table: the published streams, and the publishing program.
struct StreamsPlan: Sendable {
    /// The publishing program.
    enum Load: String, ExpressibleByArgument, CaseIterable, Codable, Sendable {
        case publisher, generator
    }

    var streams: Int
    var wire: Wire.Kind
    var batch: Int
    /// Samples per second of each stream.
    var rate: Int
    var load: Load
    /// The duration of the measurement of CPU and calls.
    var seconds: Int

    /// The default load of a row: `sensor-publisher` up to 1,000 streams and 10,000 messages per second, the generator beyond,
    /// where the publisher would be the limit on two cores.
    static func load(streams: Int, batch: Int, rate: Int) -> Load {
        streams <= 1_000 && streams * rate <= 10_000 * batch ? .publisher : .generator
    }
}
