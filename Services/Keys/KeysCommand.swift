import ArgumentParser
import ServiceKit

/// The command line of holdfast-keys: makes and shows the keys that programs and people know each other by.
@main
struct KeysCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "holdfast-keys",
        abstract: "Make and list the keys that protect Holdfast's connections.",
        discussion: """
            Pass the directory to programs with --keys DIR or HOLDFAST_KEYS. A client whose NAME.key is in it can connect \
            with the role in that file. Keep NAME.key_secret secret. To revoke a key, remove its NAME.key. See \
            docs/security.md.
            """,
        version: Version.described, subcommands: [MakeCommand.self, AddCommand.self, ListCommand.self])

    /// Runs a subcommand's work; an error is shown, and ends it with the exit code that it stands for.
    static func report(_ body: () throws -> Void) throws {
        do {
            try body()
        } catch {
            StandardStream.error.print("holdfast-keys: \(error)\n")
            throw ExitCode(ExitStatus(error).rawValue)
        }
    }
}
