import ArgumentParser
import Files
import Messages
import Recording
import ServiceKit

/// The `annotate` subcommand: labels a moment or a span of a session, through the running recorder.
struct AnnotateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "annotate", abstract: "Label a moment or a span of a running or finished session.",
        discussion: """
            recorder annotate walk-1 sit --from 12.5s --to 15s --note "on the bench"

            Annotations are never changed or removed. --corrects NUMBER adds one that replaces another; the label "" \
            withdraws the other. recorder info lists annotations.
            """)

    private static let timeout = TimeSpan.seconds(10)

    @OptionGroup var options: ServiceOptions

    @Argument(help: ArgumentHelp("The session's name.", valueName: "session"))
    var session: String

    @Argument(help: ArgumentHelp("What happened, in a word.", valueName: "label"))
    var label: String

    @Option(
        help: ArgumentHelp("When it began, since the session's start (default: now).", valueName: "time"))
    var from: TimeSpan?

    @Option(
        help: ArgumentHelp("When it ended, since the session's start (default: none, a moment).", valueName: "time"))
    var to: TimeSpan?

    @Option(help: ArgumentHelp("The stream that it is about, DEVICE/STREAM (default: all).", valueName: "stream"))
    var stream: String?

    @Option(help: "A longer note.")
    var note: String?

    @Option(help: ArgumentHelp("The number of the annotation that this one replaces.", valueName: "number"))
    var corrects: Int?

    func validate() throws {
        if let stream, StreamName(stream) == nil {
            throw ValidationError("'\(stream)' names no stream: write DEVICE/STREAM")
        }
    }

    func run() async throws {
        try await RunningProgram.report(of: .recorder, options: options) { program in
            let start = try await program.start(of: session, timeout: Self.timeout)
            func date(_ time: TimeSpan) -> WallTime { start.adding(time.nanoseconds) }
            let request = RecordingAnnotate(
                session: session, label: label, from: from.map(date), to: to.map(date),
                stream: stream.flatMap { StreamName($0) }, note: note, corrects: corrects)
            let reply = try await program.ask(request, timeout: Self.timeout)
            return reply.annotation.sentence(since: start) + "\n"
        }
    }
}
