import ArgumentParser
import ServiceKit
import SystemPackage

/// The `make` subcommand: makes a key for each program that has none.
struct MakeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "make", abstract: "Make the missing keys of Holdfast's programs.",
        discussion: "Existing keys are kept, so the command can run before every start.")

    @Argument(help: "The directory of keys; it is created if it does not exist.")
    var directory: String

    func run() throws {
        try KeysCommand.report {
            let keys = KeyDirectory(FilePath(directory))
            try keys.create()
            for program in Program.allCases {
                let outcome =
                    switch try keys.make(program.rawValue, role: program.role) {
                    case .kept: "is there"
                    case .made: "made"
                    case .completed: "its public half made"
                    }
                StandardStream.output.print("\(program): \(outcome)\n")
            }
            if let problem = try keys.allowList().problems.first { throw ServiceError(.badConfiguration, problem) }
        }
    }
}
