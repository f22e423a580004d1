package import ArgumentParser
import Messages

/// The `health` subcommand: asks the running program over its REP socket how it is.
///
/// Exits 0 where it does its work, be it degraded, 1 where it is failing, and 69 where nobody answers: a container
/// engine's health check. The endpoint is found as the program itself finds it, so in one container no options are
/// needed.
package struct HealthCommand<Program: ServiceCommand>: AsyncParsableCommand {
    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "health", abstract: "Ask the running \(Program.program) how it is: exit code 0 if it is well.")
    }

    @OptionGroup package var options: ServiceOptions

    @Option(help: "Give up after this long (default: 2s).")
    package var timeout: TimeSpan?

    package init() {}

    package func run() async throws {
        do {
            let reply = try await ask()
            StandardStream.output.print(Self.text(of: reply))
            if reply.status == .failing { throw ExitCode(ExitStatus.failed.rawValue) }
        } catch let error where !(error is ExitCode) {
            StandardStream.error.print("\(Program.program): \(error)\n")
            throw ExitCode(ExitStatus(error).rawValue)
        }
    }

    /// What is printed about a program that answers.
    /// - Throws: `ServiceError` if it does not, or can't be asked.
    package func answer() async throws -> String { Self.text(of: try await ask()) }

    private func ask() async throws -> ServiceHealth.Reply {
        try await RunningProgram(Program.program, options: options).ask(
            ServiceHealth(), timeout: timeout ?? .seconds(2))
    }

    private static func text(of reply: ServiceHealth.Reply) -> String {
        let lines =
            ["\(Program.program): \(reply.status.rawValue), version \(reply.version), up \(Int(reply.uptime)) s"]
            + reply.reasons.map { "- \($0)" }
            + (reply.measures ?? [:]).sorted { $0.key < $1.key }.map { "  \($0.key): \(Self.text(of: $0.value))" }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func text(of measure: Double) -> String {
        Int(exactly: measure).map { "\($0)" } ?? "\(measure)"
    }
}
