import ArgumentParser
import Logging
import MessageBus
import Messages
import Recording
import ServiceKit
import UnixSignals
import ZeroMQ

/// The `record` subcommand: asks a running recorder for a session, shows how it goes, and reports how it went.
///
/// Ends at its duration, or at Ctrl-C; the session is stopped either way. Exits 3 where samples were lost.
struct RecordCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "record", abstract: "Record a session with the running recorder, and show how it goes.",
        discussion: """
            recorder record --streams left-wrist/ --duration 20s --task Walk --step outbound --move-to 10s=return
            """)

    @OptionGroup var options: ServiceOptions

    @Option(help: ArgumentHelp("Ask this publisher how punctual it is.", valueName: "endpoint"))
    var sensorPublisher: Endpoint?

    @Option(
        parsing: .upToNextOption,
        help: ArgumentHelp("Streams: DEVICE/STREAM, or DEVICE/ for all of a device.", valueName: "stream"))
    var streams: [String]

    @Option(help: "The session's name (default: made from the date).")
    var session: String?

    @Option(help: "What the person does.")
    var task: String?

    @Option(help: "The step to begin with.")
    var step: String?

    @Option(help: ArgumentHelp("Go on to a step at a time; may be repeated.", valueName: "time=step"))
    var moveTo: [StepChange] = []

    @Option(help: "Stop after this long (default: at Ctrl-C).")
    var duration: TimeSpan?

    @Option(help: "json, csv or tsv (default: what log-manager has for the log, or else json).")
    var format: String?

    @Option(help: "array or dictionary, for json (default: array).")
    var root: String?

    @Option(help: "Go on in a new log file after so many bytes (default: as log-manager has it, or else never).")
    var maximumFileSize: ByteCount?

    @Option(help: "Go on in a new log file after this long (default: as log-manager has it, or else never).")
    var maximumFileAge: TimeSpan?

    func run() async throws {
        let status: ExitStatus
        do {
            let reader = try ConfigurationReader(for: .recorder, flags: options.flags)
            let client = try RecordClient(
                recorder: reader.value("reply", default: Program.recorder.defaultReply),
                sensorPublisher: sensorPublisher ?? Program.sensorPublisher.defaultReply)
            let request = RecordingStart(
                session: session, task: task, step: step, streams: streams, format: format, root: root,
                maximumFileSize: maximumFileSize?.bytes,
                maximumFileAge: maximumFileAge.map { Double($0.nanoseconds) / 1e9 })
            status = try await client.record(request, steps: moveTo, duration: duration)
        } catch {
            StandardStream.error.print("recorder: \(error)\n")
            throw ExitCode(ExitStatus(error).rawValue)
        }
        if status != .done { throw ExitCode(status.rawValue) }
    }
}
