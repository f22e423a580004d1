import ArgumentParser
import Messages
import Recording
import ServiceKit

/// The `keep` subcommand: keeps a time range of a session from removal by its ring, through the running recorder.
struct KeepCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keep", abstract: "Protect a part of a session that removes its old files.",
        discussion: """
            recorder keep always --from 10h --to 10h30m

            Times count from the session's start. recorder info lists the files; each name has the time when the file was finished.
            """)

    private static let timeout = TimeSpan.seconds(10)

    @OptionGroup var options: ServiceOptions

    @Argument(help: ArgumentHelp("The session's name.", valueName: "session"))
    var session: String

    @Option(
        help: ArgumentHelp("When the span begins, since the session's start (default: its start).", valueName: "time"))
    var from: TimeSpan?

    @Option(help: ArgumentHelp("When it ends, since the session's start (default: now).", valueName: "time"))
    var to: TimeSpan?

    @Option(help: ArgumentHelp("Keep this much up to now, in place of --from.", valueName: "time"))
    var last: TimeSpan?

    func validate() throws {
        if last != nil, from != nil || to != nil { throw ValidationError("give --last, or --from and --to") }
    }

    func run() async throws {
        try await RunningProgram.report(of: .recorder, options: options) { program in
            let start = try await program.start(of: session, timeout: Self.timeout)
            func date(_ time: TimeSpan) -> WallTime { start.adding(time.nanoseconds) }
            var request = RecordingKeep(session: session, from: from.map(date), to: to.map(date))
            if let last {
                let now = try await program.ask(ServiceClock(), timeout: Self.timeout).clock.date
                request.from = now.adding(-last.nanoseconds)
            }
            let reply = try await program.ask(request, timeout: Self.timeout)
            var lines = ["session \(session) keeps \(reply.from.localText) to \(reply.to.localText)"]
            lines += reply.files.map { "keeps \($0)" }
            lines += (reply.removed ?? []).map { "already removed: \($0)" }
            return lines.map { $0 + "\n" }.joined()
        }
    }
}
