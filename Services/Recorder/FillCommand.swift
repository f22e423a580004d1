import ArgumentParser
import Import
import Messages
import Recording
import ServiceKit
import SystemPackage

/// The `fill` subcommand: fills a session's gaps from a phone's own recording, or from a publisher or relay that still has the
/// samples. Needs no running recorder.
///
/// Exits 0 if no gap is left, 3 if some are, 1 if nothing can be filled.
struct FillCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fill", abstract: "Fill a session's gaps from a phone's own recording, a publisher or a relay.",
        discussion: """
            recorder fill data/recordings/walk-1 export.zip
            recorder fill data/recordings/walk-1 --from tcp://127.0.0.1:5551

            Takes an export of Sensor Logger: a zip of CSV or JSON, a JSON file, or the directory of an unpacked zip. Samples are \
            matched by device, sensor and time.

            With --from, requests the samples from a publisher that is still running and keeps them, or from a relay whose \
            servers keep them. Samples are matched by epoch and number.

            Filled samples are marked. Recorded samples are not changed. An archive that was made earlier and not uploaded is \
            removed, so that an archiver makes it again.
            """)

    /// Most notes that are shown for a stream.
    private static let maximumNotes = 20

    @OptionGroup var options: ServiceOptions

    @Argument(help: ArgumentHelp("The session's directory.", valueName: "dir"), completion: .directory)
    var directory: String

    @Argument(help: ArgumentHelp("The phone's export: a zip, a JSON file, or a directory.", valueName: "export"))
    var export: String?

    @Option(
        help: ArgumentHelp(
            "Request samples from the publisher or relay at this endpoint, instead of reading an export.",
            valueName: "endpoint"))
    var from: Endpoint?

    @Option(
        help:
            "The device to fill, as the session names it (default: the one that the export names, or the only one with gaps; with --from all)."
    )
    var device: String?

    @Flag(help: "Show what would be filled, and change nothing.")
    var dryRun = false

    func validate() throws {
        switch (export, from) {
        case (nil, nil): throw ValidationError("name the phone's export, or give --from ENDPOINT to request samples")
        case (.some(let export), .some):
            throw ValidationError("give the export '\(export)' or --from ENDPOINT, not both")
        default: break
        }
    }

    func run() async throws {
        FileMode.applyStandard()
        let outcome = try await Program.recorder.showing { try await fill() }
        StandardStream.output.print(text(of: outcome))
        if outcome.remainingGaps > 0 { throw ExitCode(ExitStatus.doneWithLoss.rawValue) }
    }

    private func fill() async throws -> SessionFill.Outcome {
        var fillOptions = SessionFill.Options()
        fillOptions.device = device
        fillOptions.isDryRun = dryRun
        let fill = SessionFill(
            FilePath(directory), fillOptions, version: Version.current, date: .now)
        if let from {
            let replies = try PublisherReplies(at: from, options: options)
            return try await fill.run(from: BusReplays(from: from.description, by: replies))
        }
        return try fill.run(from: PhoneExport(FilePath(export ?? "")))
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
