import ArgumentParser

/// Measures the programs of Holdfast, each compared with the best that the machine could do.
@main
struct BenchmarksCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "benchmarks", abstract: "Measure Holdfast's programs beside a plain loop that does the same.",
        subcommands: [
            RunCommand.self, SendCommand.self, FloorCommand.self, LoadCommand.self, ReadCommand.self,
        ], defaultSubcommand: RunCommand.self)
}
