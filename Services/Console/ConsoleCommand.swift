package import ArgumentParser
package import ConsoleEngine
package import ServiceKit

/// The command line of console: serves the page from which a lab sees what the programs do, and controls recordings.
@main
package struct ConsoleCommand: ServiceCommand {
    package static let program = Program.console
    package static let configuration = commandConfiguration(
        abstract: "Serve a web page that shows and controls the running programs.",
        discussion: """
            The page is served at http://127.0.0.1:5500, on this machine only. Everybody with an account on this machine can open \
            it. With --login, only people with a link that the console prints at its start can. With --identity and --listen, \
            other machines can open it over TLS.
            """)

    @OptionGroup package var options: ProgramOptions

    @OptionGroup package var settings: SettingFlags<ConsoleSettings>

    package init() {}

    package static func start(_ settings: ConsoleSettings, on host: ServiceHost) async throws -> RunningService {
        try await .console(settings, on: host)
    }
}
