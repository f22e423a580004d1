import ArgumentParser
import Messages
import RecorderClient
import ServiceKit

/// The `record` subcommand: starts a session in a running recorder, shows its progress, and prints its report.
///
/// Ends after its duration, or at Ctrl-C; either way, the session is stopped. Exits 3 if samples were lost. With a series, the
/// command can be restarted after a kill: it continues the session that is in progress.
struct RecordCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "record", abstract: "Record a session with the running recorder, and show its progress.",
        discussion: """
            recorder record --streams left-wrist/ --duration 20s --task Walk --step outbound --move-to 10s=return
            """)

    @OptionGroup var options: ServiceOptions

    @Option(help: ArgumentHelp("Show how late the samples of this publisher are.", valueName: "endpoint"))
    var sensorPublisher: Endpoint?

    @Option(
        parsing: .upToNextOption,
        help: ArgumentHelp(
            "Streams: DEVICE/STREAM, DEVICE/ for all of a device, or '*' for all; add :FROM..TO for these steps only.",
            valueName: "stream"))
    var streams: [String]

    @Option(help: "The session's name (default: made from the date).")
    var session: String?

    @Option(
        help: ArgumentHelp(
            "Record the next session of a series, named NAME-DATE, or follow one that is running.",
            valueName: "name"))
    var series: String?

    @Flag(help: "Check the session's files afterwards, as verify does.")
    var verify = false

    @Option(help: "The task that the person performs.")
    var task: String?

    @Option(help: "The step to begin with.")
    var step: String?

    @Option(help: ArgumentHelp("Move to a step at a time; may be repeated.", valueName: "time=step"))
    var moveTo: [StepChange] = []

    @Option(
        parsing: .upToNextOption,
        help: ArgumentHelp(
            "Label moments with the keys 1 to 9 on standard input: key 1 stands for the first label.",
            valueName: "label"))
    var label: [String] = []

    @Option(help: "Begin this long ago, with the samples of that time that publishers still keep.")
    var before: TimeSpan?

    @Option(
        help: ArgumentHelp(
            "Remove stream files this long after they were finished, unless recorder keep protects them (default: never).",
            valueName: "time"))
    var keep: TimeSpan?

    @Option(help: "Stop after this long (default: at Ctrl-C).")
    var duration: TimeSpan?

    @Option(help: "json, csv or tsv (default: as log-manager is configured, else json).")
    var format: String?

    @Option(help: "array or dictionary, for json (default: array).")
    var root: String?

    @Option(help: "Rotate stream files at this size (default: as log-manager is configured, else never).")
    var maximumFileSize: ByteCount?

    @Option(help: "Rotate stream files after this long (default: as log-manager is configured, else never).")
    var maximumFileAge: TimeSpan?

    func validate() throws {
        if label.count > 9 { throw ValidationError("--label has \(label.count) labels: there are keys for 9") }
        if session != nil, series != nil { throw ValidationError("give --session or --series, not both") }
    }

    func run() async throws {
        let result = try await Program.recorder.showing {
            let reader = try ConfigurationReader(for: .recorder, flags: options.flags)
            let client = try RecordClient(
                recorder: RunningProgram.endpoint(of: .recorder, reading: reader),
                sensorPublisher: sensorPublisher ?? Program.sensorPublisher.defaultReply,
                security: Security(askingWith: reader, as: .recorder))
            let seconds = { (span: TimeSpan) in Double(span.nanoseconds) / 1e9 }
            var request = RecordingStart(
                session: session, task: task, step: step, streams: [], format: format, root: root,
                maximumFileSize: maximumFileSize?.bytes,
                maximumFileAge: maximumFileAge.map(seconds), duration: duration.map(seconds),
                before: before.map(seconds),
                keep: keep.map(seconds))
            request.streams = streams.map(StreamChoice.init(typed:))
            return try await client.record(request, inSeries: series, steps: moveTo, labels: label)
        }
        if verify { try VerifyCommand.verify(result.directory) }
        if !result.report.isWhole { throw ExitCode(ExitStatus.doneWithLoss.rawValue) }
    }
}
