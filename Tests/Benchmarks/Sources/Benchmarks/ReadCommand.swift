import ArgumentParser
import Plain

struct ReadCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "read", shouldDisplay: false)

    @Option var endpoint: String

    func run() throws {
        guard plain_reader(endpoint) == 0 else { throw ExitCode.failure }
    }
}
