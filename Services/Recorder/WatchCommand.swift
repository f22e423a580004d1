import ArgumentParser
import RecorderClient
import RecorderEngine
import Recording
import ServiceKit
import Triggers

/// The `watch` subcommand: records a session around each trigger, through the running recorder.
///
/// Ends at Ctrl-C, or after a number of sessions. Exits 3 if samples were lost, in a session or to the watch itself.
struct WatchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch", abstract: "Record a session around each trigger: a fall, a silence, a full disk.",
        discussion: """
            recorder watch --when 'left-wrist/accelerometer |a| > 3g' --before 10s --after 20s

            An expression begins with a stream: DEVICE/STREAM, DEVICE/ for all of a device, or '*' for all.

            STREAM |a| > 3g            the length of the vector x, y, z; |FIELD,FIELD| for others
            STREAM FIELD < 900hPa      a field; = "fall" for a text
            STREAM rate < 80           samples in the last second
            STREAM silent 5s           no sample for a time
            threshold [NAME] [of LOG]  log-manager reports that a threshold is crossed

            With "for 200ms" after it, a comparison must hold for that time first. A trigger during a session extends it.
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
            "Keep the time around triggers in this session, which record --keep started, and start no others.",
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
            _ = try SessionIdentifier(new: "\(sessionPrefix)-20261121T080826Z-1e27")
        } catch {
            throw ValidationError("--session-prefix '\(sessionPrefix)' can't begin a session's name: \(error)")
        }
        // While the recorder is unreachable, this time grows.
        if before > .seconds(80_000) { throw ValidationError("--before is \(before): write at most 80000s") }
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
