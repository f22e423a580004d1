import ArgumentParser
import ServiceKit

/// The command line of holdfast-keys: makes and lists the keys with which programs and people authenticate.
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

    /// Runs a subcommand's work; prints an error, and ends with its exit code.
    static func report(_ body: () throws -> Void) throws {
        do {
            try body()
        } catch {
            StandardStream.error.print("holdfast-keys: \(error)\n")
            throw ExitCode(ExitStatus(error).rawValue)
        }
    }
}
