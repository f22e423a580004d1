import ArgumentParser
import Plain

/// Publishes many streams on schedule, see `Load.cpp`.
struct LoadCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "load", shouldDisplay: false)

    @Option var streams: Int32
    @Option var rate: Int32
    @Option var batch: Int32
    @Option var wire: Wire.Kind

    func run() throws {
        guard streams > 0, rate > 0, batch > 0 else { throw ValidationError("streams, rate and batch are 1 or more") }
        var options = plain_load_options(
            streams: streams, rate: rate, batch: batch, is_packed: wire == .packed,
            // The same number as in sensor-publisher.
            high_water_mark: max(1_000, 10 * streams))
        guard plain_load(&options) == 0 else { throw ExitCode.failure }
    }
}
