package import ArgumentParser
package import ZeroMQ

/// A program's main: its options, how its settings are read, and how its service is set up. The rest is the same for
/// all programs and done here: `--check`, logging, sockets, signals, exit codes, and the `health` subcommand.
///
/// ```swift
/// @main
/// struct RecorderCommand: ServiceCommand {
///     static let program = Program.recorder
///     static let configuration = commandConfiguration(abstract: "Record sessions of sensor data.")
///     @OptionGroup var options: ServiceOptions
///     @OptionGroup var settings: SettingFlags<RecorderSettings>
///
///     static func start(_ settings: RecorderSettings, on host: ServiceHost) async throws -> RunningService { … }
/// }
/// ```
package protocol ServiceCommand: AsyncParsableCommand {
    /// What the program reads besides `ServiceSettings`.
    associatedtype Settings: SettingGroup

    static var program: Program { get }

    /// The options that every program has.
    var options: ServiceOptions { get }

    /// The program's own options.
    var settings: SettingFlags<Settings> { get }

    /// Checks for `--check` what a look at the disk tells, and changes nothing.
    /// - Throws: `ServiceError` or `Errno`, with what is wrong.
    static func check(_ settings: Settings, _ configuration: ServiceConfiguration) async throws

    /// How the program's PUB socket is bounded.
    static func publishingOptions(_ settings: Settings) -> SocketOptions

    /// Sets the service up. Nothing is answered and no part runs before this returns.
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

    /// All that was given on the command line.
    package var flags: FlagValues {
        var flags = options.flags
        flags.add(settings.flags)
        return flags
    }

    package func run() async throws {
        let status = await ServiceRunner<Self>.run(flags: flags, checkOnly: options.check)
        if status != .done { throw ExitCode(status.rawValue) }
    }
}
