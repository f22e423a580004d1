import ArgumentParser
import Files
import Import
import Messages
import Recording
import Runtime
import ServiceKit
import SystemPackage

/// The `fill` subcommand: fills a session's gaps from what a phone recorded itself. Needs no running recorder.
///
/// Exits 0 if no gap is left, 3 if some are, 1 if nothing can be filled.
struct FillCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fill", abstract: "Fill a session's gaps from the phone's own recording.",
        discussion: """
            recorder fill data/recordings/walk-1 export.zip

            Takes an export of Sensor Logger: a zip of CSV or JSON, a JSON file, or the directory of an unpacked zip. Samples are \
            matched by device, sensor and time, and are marked as filled in. Nothing that was recorded is changed. An archive that \
            was made before and not uploaded is removed, so that an archiver makes it anew.
            """)

    /// Notes of a stream that are shown.
    private static let maximumNotes = 20

    @Argument(help: ArgumentHelp("The session's directory.", valueName: "dir"), completion: .directory)
    var directory: String

    @Argument(help: ArgumentHelp("The phone's export: a zip, a JSON file, or a directory.", valueName: "export"))
    var export: String

    @Option(
        help:
            "The device that made the export, as the session names it (default: what the export says, or the only one with gaps)."
    )
    var device: String?

    @Flag(help: "Show what would be filled, and change nothing.")
    var dryRun = false

    func run() throws {
        FileMode.applyStandard()
        var options = SessionFill.Options()
        options.device = device
        options.isDryRun = dryRun
        let outcome = try SessionDirectory.opening(directory) { path throws(RecordingError) in
            try SessionFill(
                path, from: FilePath(export), options, version: Version.current, date: RecordingEngine.clock().date
            ).run()
        }
        StandardStream.output.print(text(of: outcome))
        if outcome.remainingGaps > 0 { throw ExitCode(ExitStatus.doneWithLoss.rawValue) }
    }

    private func text(of outcome: SessionFill.Outcome) -> String {
        let name = outcome.session.text
        let rest = outcome.remainingGaps == 0 ? "no gap is left" : "\(outcome.remainingGaps.counted("gap")) left"
        if let fill = outcome.formerFill {
            return
                "\(name): \(fill.source.name) was used already, on \(fill.date.utcText); nothing is changed, \(rest)\n"
        }
        if outcome.streams.isEmpty { return "\(name): it has no gaps, so nothing is changed\n" }
        var lines: [String] = []
        for stream in outcome.streams {
            let lost = stream.rest.reduce(0) { $0.addingClamped($1.count) }
            let left =
                stream.rest.isEmpty
                ? "no gap is left" : "\(stream.rest.count.counted("gap")) of \(lost.counted("sample")) left"
            lines.append(
                "\(stream.name): \(stream.samples.counted("sample")) in \(stream.gaps.counted("gap")); \(left)")
            lines += stream.notes.prefix(Self.maximumNotes).map { "\(stream.name): \($0)" }
            let more = stream.notes.count - Self.maximumNotes
            if more > 0 { lines.append("\(stream.name): and \(more.counted("other note"))") }
        }
        lines += outcome.removedArchives.map { "\(name): removed \($0), which does not have these samples" }
        let verb = dryRun ? "would fill" : "filled"
        lines.append("\(name): \(verb) \(outcome.samples.counted("sample")); \(rest), in \(outcome.path)")
        return lines.map { $0 + "\n" }.joined()
    }
}
