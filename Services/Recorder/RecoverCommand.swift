import ArgumentParser
import Files
import Recording
import ServiceKit
import SystemPackage

/// The `recover` subcommand: repairs and finishes a copy of an interrupted session. Needs no running recorder, and only reads the
/// original.
///
/// Exits 0 if the copy is whole, 3 with loss, 1 if there is nothing to recover.
struct RecoverCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "recover", abstract: "Repair a copy of an interrupted session.",
        discussion: "A running recorder repairs its own sessions. Use this for session directories copied elsewhere.")

    @Argument(help: ArgumentHelp("The session's directory.", valueName: "dir"), completion: .directory)
    var directory: String

    @Option(help: ArgumentHelp("Write the copy to this directory (default: DIR-recovered).", valueName: "dir"))
    var output: String?

    func run() throws {
        FileMode.applyStandard()
        try SessionDirectory.opening(directory) { path throws(RecordingError) in
            let copy = FilePath(output ?? "\(path)-recovered")
            let recovered = try SessionDirectory.recover(copyOf: path, to: copy)
            StandardStream.output.print("recovered to \(copy)\n")
            return recovered.verify()
        }.conclude()
    }
}
