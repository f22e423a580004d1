import ArgumentParser
import ServiceKit
import SystemPackage

/// The `make` subcommand: makes the keys of the five programs, as far as they are missing.
struct MakeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "make", abstract: "Make the keys of Holdfast's programs that are missing.",
        discussion: "What is there is kept, so that it can be run before every start.")

    @Argument(help: "The directory of keys; it is made where it is not there.")
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
