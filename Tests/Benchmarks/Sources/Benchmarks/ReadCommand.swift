import ArgumentParser
import Plain

/// Subscribes to a publisher's samples and drops them: see `Reader.cpp`.
struct ReadCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "read", shouldDisplay: false)

    @Option var endpoint: String

    func run() throws {
        guard plain_reader(endpoint) == 0 else { throw ExitCode.failure }
    }
}
