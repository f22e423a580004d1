import ArgumentParser
import Files
import Recording
import ServiceKit

/// The `info` subcommand: shows the contents of a session's directory. Needs no running recorder, and reads no log.
struct InfoCommand: ParsableCommand {
    enum Format: String, ExpressibleByArgument, CaseIterable {
        case text, json
    }

    static let configuration = CommandConfiguration(
        commandName: "info", abstract: "Show what is in a session: duration, streams, counts, rates, gaps, files.")

    @Argument(help: ArgumentHelp("The session's directory.", valueName: "dir"), completion: .directory)
    var directory: String

    @Option(help: "text or json.")
    var format = Format.text

    func run() throws {
        let summary = try SessionDirectory.opening(directory) { path throws(RecordingError) in
            try SessionDirectory(at: path).summary()
        }
        let json = String(decoding: StoredJSON.document(summary), as: UTF8.self)
        StandardStream.output.print(format == .json ? json : summary.table)
    }
}
