import ArgumentParser

/// One row of the streams table: what is published, and by which program.
struct StreamsPlan: Sendable {
    /// Who publishes.
    enum Load: String, ExpressibleByArgument, CaseIterable, Codable, Sendable {
        case publisher, generator
    }

    var streams: Int
    var wire: Wire.Kind
    var batch: Int
    /// Samples a second of each stream.
    var rate: Int
    var load: Load
    /// How long CPU and calls are measured.
    var seconds: Int

    /// The load of a row that does not name one: `sensor-publisher` up to 1,000 streams and 10,000 messages a second, the
    /// generator beyond, where the publisher would be the limit on two cores.
    static func load(streams: Int, batch: Int, rate: Int) -> Load {
        streams <= 1_000 && streams * rate <= 10_000 * batch ? .publisher : .generator
    }
}
