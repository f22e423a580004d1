package import ArgumentParser
package import ZeroMQ

/// A program's main: its options, the group of its settings, and the setup of its service. Everything else is the same for all
/// programs and done here: `--check`, logging, sockets, signals, exit codes, and the `health` subcommand.
///
/// ```swift
/// @main
/// struct RecorderCommand: ServiceCommand {
///     static let program = Program.recorder
///     static let configuration = commandConfiguration(abstract: "Record sessions of sensor data.")
///     @OptionGroup var options: ProgramOptions
///     @OptionGroup var settings: SettingFlags<RecorderSettings>
///
///     static func start(_ settings: RecorderSettings, on host: ServiceHost) async throws -> RunningService { … }
/// }
/// ```
package protocol ServiceCommand: AsyncParsableCommand {
    /// The program's settings besides `ServiceSettings`.
    associatedtype Settings: SettingGroup

    static var program: Program { get }

    /// The options that every program has.
    var options: ProgramOptions { get }

    var settings: SettingFlags<Settings> { get }

    /// Checks the state on disk for `--check`, and changes nothing.
    /// - Throws: `ServiceError` or `Errno` for a problem.
    static func check(_ settings: Settings, _ configuration: ServiceConfiguration) async throws

    /// The limits of the program's PUB socket.
    static func publishingOptions(_ settings: Settings) -> SocketOptions

    /// Sets the service up. Requests are answered and parts run only after this returns.
    static func start(_ settings: Settings, on host: ServiceHost) async throws -> RunningService
}

extension ServiceCommand {
    package static func check(_ settings: Settings, _ configuration: ServiceConfiguration) async throws {}

    package static func publishingOptions(_ settings: Settings) -> SocketOptions { .publishing }

    /// The command's name, version and subcommands.
    package static func commandConfiguration(abstract: String, discussion: String = "") -> CommandConfiguration {
        CommandConfiguration(
            commandName: program.rawValue, abstract: abstract, discussion: discussion, version: Version.described,
            subcommands: [HealthCommand<Self>.self])
    }

    /// All values given on the command line.
    package var flags: FlagValues {
        var flags = options.flags
        flags.add(settings.flags)
        return flags
    }

    package static func main() async {
        do {
            var command = try await command(Array(CommandLine.arguments.dropFirst()))
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch {
            exit(withError: error)
        }
    }

    /// The program's command, or the subcommand that a line names.
    ///
    /// The parser takes a program's options anywhere in the line. So that a subcommand does not ignore one that it does not have,
    /// such as `--check`, its part of the line is parsed again, without the program.
    package static func command(_ line: [String]) async throws -> any ParsableCommand {
        let command = try await asyncParseAsRoot(line)
        let subcommand = type(of: command)
        guard configuration.subcommands.contains(where: { $0 == subcommand }) else { return command }
        let name = subcommand.configuration.commandName ?? ""
        var refusal: String?
        // An option's value may be the same word.
        for place in line.indices where line[place] == name {
            do {
                _ = try subcommand.parse(Array(line[..<place] + line[(place + 1)...]))
                return command
            } catch {
                refusal = refusal ?? subcommand.message(for: error)
            }
        }
        guard let refusal else { return command }
        throw ValidationError("\(program) \(name): \(refusal)")
    }

    package func run() async throws {
        let status = await ServiceRunner<Self>.run(flags: flags, checkOnly: options.check)
        if status != .done { throw ExitCode(status.rawValue) }
    }
}
