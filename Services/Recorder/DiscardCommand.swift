import ArgumentParser
import Messages
import ServiceKit

/// The `discard` subcommand: removes sessions, through the running recorder.
struct DiscardCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "discard", abstract: "Remove sessions: files, archives, entries and steps.",
        discussion: """
            Refuses a session that is running or whose end is not stored yet, that was interrupted and not continued, \
            that was recorded with another shard, that another machine continued, that has no receipt for its upload, \
            that has a file that could not be archived, or that was annotated after its archive was made. --force \
            removes it nevertheless, and cancels a running session first. A cancelled session needs no receipt.
            """)

    /// How long a recorder may take: it first stores sessions that need the write-ahead log.
    private static let timeout = TimeSpan.seconds(30)

    @OptionGroup var options: ServiceOptions

    @Argument(help: ArgumentHelp("The sessions' names.", valueName: "session"))
    var sessions: [String]

    @Flag(help: "Also discard sessions that are refused otherwise.")
    var force = false

    func run() async throws {
        try await RunningProgram.report(of: .recorder, options: options) { program in
            var others: [RecordingDiscard.Part] = []
            for session in sessions {
                let request = RecordingDiscard(session: session, force: force ? true : nil)
                let reply = try await program.ask(request, timeout: Self.timeout)
                let rest = reply.isComplete ? "" : "; its samples leave the write-ahead log with the next checkpoint"
                StandardStream.output.print("session \(session) discarded at \(reply.date.utcText)\(rest)\n")
                others = reply.others
            }
            return others.map { "\($0.program) removes \($0.removes), now or when it starts\n" }.joined()
        }
    }
}
