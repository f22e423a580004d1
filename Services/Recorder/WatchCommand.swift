import ArgumentParser
import RecorderClient
import RecorderEngine
import Recording
import ServiceKit
import Triggers

/// The `watch` subcommand: has the running recorder record a session around each trigger.
///
/// Ends at Ctrl-C, or after a number of sessions. Exits 3 if samples were lost, in a session or to the watch itself.
struct WatchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch", abstract: "Record a session around each trigger: a fall, a silence, a full disk.",
        discussion: """
            recorder watch --when 'left-wrist/accelerometer |a| > 3g' --before 10s --after 20s

            An expression begins with a stream: DEVICE/STREAM, DEVICE/ for all of a device, or '*' for all.

            STREAM |a| > 3g            the length of the vector x, y, z; |FIELD,FIELD| of others
            STREAM FIELD < 900hPa      a field; a text by = "fall"
            STREAM rate < 80           samples in the last second
            STREAM silent 5s           no sample for a time
            threshold [NAME] [of LOG]  log-manager says that a threshold is crossed

            "for 200ms" behind a comparison has it hold for that time first. A trigger during a session makes it longer.
            """)

    @OptionGroup var options: ServiceOptions

    @Option(
        help: ArgumentHelp("What to wait for; may be repeated.", valueName: "expression"),
        transform: TriggerExpression.init(typed:))
    var when: [TriggerExpression]

    @Option(help: "Begin sessions this long before a trigger.")
    var before: TimeSpan = .seconds(10)

    @Option(help: "End sessions this long after the last trigger.")
    var after: TimeSpan = .seconds(20)

    @Option(
        parsing: .upToNextOption,
        help: ArgumentHelp("Streams to record: DEVICE/STREAM, DEVICE/ or '*' (default: all).", valueName: "stream"))
    var streams: [String] = ["*"]

    @Option(help: ArgumentHelp("Name sessions NAME-DATE.", valueName: "name"))
    var sessionPrefix = "watch"

    @Option(
        help: ArgumentHelp(
            "Keep the time around triggers of this session, which record --keep began, and record no others.",
            valueName: "session"))
    var keep: String?

    @Option(help: "The task that the person performs.")
    var task: String?

    @Option(
        help: ArgumentHelp("End after this many sessions, or kept triggers (default: at Ctrl-C).", valueName: "count"))
    var limit: Int?

    @Option(
        help: ArgumentHelp(
            "Subscribe to this publisher; may be repeated (default: as the recorder is configured).",
            valueName: "endpoint"))
    var publisher: [Endpoint] = []

    @Option(
        help: ArgumentHelp("Subscribe to this log-manager, for threshold.", valueName: "endpoint"))
    var logManagerEvents: Endpoint?

    func validate() throws {
        if let limit, limit < 1 { throw ValidationError("--limit is \(limit): write 1 or more") }
        do {
            _ = try SessionIdentifier("\(sessionPrefix)-20261121T080826Z-1e27")
        } catch {
            throw ValidationError("--session-prefix '\(sessionPrefix)' can't begin a session's name: \(error)")
        }
        // A recorder that is away is waited for; then this is longer ago.
        if before > .seconds(80_000) { throw ValidationError("--before is \(before): write 80000s at most") }
    }

    func run() async throws {
        let isWhole = try await Program.recorder.showing {
            let reader = try ConfigurationReader(for: .recorder, flags: options.flags)
            let client = try await WatchClient(
                when,
                core: TriggerWatch(
                    when, before: before.nanoseconds, after: after.nanoseconds, limit: limit,
                    prefix: sessionPrefix, number: .random(in: .min ... .max), ring: keep),
                sessions: WatchedSessions(streams: streams, task: task, ring: keep),
                subscribe: publisher.isEmpty ? try reader.value(\RecorderSettings.$subscribe) : publisher,
                logManager: logManagerEvents ?? Program.logManager.defaultPublish,
                recorder: RunningProgram.endpoint(of: .recorder, reading: reader),
                security: Security(askingWith: reader, as: .recorder))
            return try await client.watch()
        }
        if !isWhole { throw ExitCode(ExitStatus.doneWithLoss.rawValue) }
    }
}
