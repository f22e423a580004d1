package import ArgumentParser
import ServiceKit

/// The archiver's command line.
@main
package struct ArchiverCommand: ParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: Program.archiver.rawValue,
        abstract: "Turns finished sessions into archives, and checks and opens these.", version: Version.current,
        subcommands: [CreateCommand.self, VerifyCommand.self, ExtractCommand.self])

    package init() {}
}
