package import ArgumentParser
import Messages

/// The `health` subcommand: asks the running program for its health over its REP socket.
///
/// The exit code is 0 if the program works, even if it is degraded, 1 if it is failing, and 69 if there is no answer, so a
/// container engine can use it as a health check. The command finds the endpoint as the program itself does, so no options are
/// needed in the same container.
package struct HealthCommand<Program: ServiceCommand>: AsyncParsableCommand {
    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "health", abstract: "Show the running \(Program.program)'s health; exit code 0 if it works.")
    }

    @OptionGroup package var options: ServiceOptions

    @Option(help: "Give up after this long (default: 2s).")
    package var timeout: TimeSpan?

    package init() {}

    package func run() async throws {
        var isFailing = false
        try await RunningProgram.report(of: Program.program, options: options) { program in
            let reply = try await ask(program)
            isFailing = reply.status == .failing
            return Self.text(of: reply)
        }
        if isFailing { throw ExitCode(ExitStatus.failed.rawValue) }
    }

    /// The text to print for the program's reply.
    /// - Throws: `ServiceError` if the program does not answer, or can't be asked.
    package func answer() async throws -> String {
        Self.text(of: try await ask(RunningProgram(Program.program, options: options)))
    }

    private func ask(_ program: RunningProgram) async throws -> ServiceHealth.Reply {
        try await program.ask(ServiceHealth(), timeout: timeout ?? .seconds(2))
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
