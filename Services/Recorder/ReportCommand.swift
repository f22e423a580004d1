import ArgumentParser
import Files
import Recording
import ServiceKit
import SessionOverview
import SystemPackage

/// The `report` subcommand: writes a session's report as a page for a lab notebook. Needs no running recorder.
struct ReportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "report", abstract: "Write a session's report as one HTML file: plots, gaps, steps, hashes.",
        discussion: """
            The file is self-contained and runs no script. The same session gives the same bytes. The file may be outside the \
            session's directory. The session's files are not changed.
            """)

    @Argument(help: ArgumentHelp("The session's directory.", valueName: "dir"), completion: .directory)
    var directory: String

    @Option(help: ArgumentHelp("Write this file; one that exists is replaced.", valueName: "file"), completion: .file())
    var to: String

    @Option(
        help: ArgumentHelp(
            "Count steps in streams of this name, and show the gait; may be repeated.", valueName: "name"))
    var countSteps: [String] = []

    func run() throws {
        FileMode.applyStandard()
        try SessionDirectory.opening(directory) { path throws(RecordingError) in
            let page = try SessionPage.html(of: SessionDirectory(at: path), countingStepsIn: countSteps)
            let file = FilePath(to)
            let folder = file.removingLastComponent()
            guard let name = file.lastComponent?.string else {
                throw RecordingError(
                    .invalidParameter, action: "write \(to)", reason: "it names no file",
                    advice: "Write --to report.html.")
            }
            try Directory(folder.isEmpty ? "." : folder).replace(name, with: Array(page.utf8))
        }
        StandardStream.output.print("\(to)\n")
    }
}
