import ArgumentParser
import Files
import Messages
import Recording
import ServiceKit
import StepDetection
import StepRecordings
import SystemPackage

/// The `count` subcommand: counts the steps in recordings, with the detector that also counts live. Needs no running program.
struct CountCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "count", abstract: "Count the steps in recordings.",
        discussion: """
            A recording is a table (CSV or TSV with columns t, x, y and z: seconds, and accelerations with gravity), a stream \
            file of the recorder (rotated files of a stream are one recording), each plain or compressed with gzip, or a \
            session's directory. Exits 0, 3 if parts of a session are missing or it has a failure, 74 if a file can't \
            be read or understood.
            """)

    @Argument(help: ArgumentHelp("Files, or directories of sessions.", valueName: "file"), completion: .file())
    var paths: [String]

    @Option(help: "text, json (everything) or csv.")
    var format = StepReportFormat.text

    @Option(help: "The rows of csv: recordings, bouts, steps or annotations.")
    var rows = CountedRecording.Rows.recordings

    @Option(help: "The unit of accelerations: g or m/s2 (default: the recording's, or a guess from gravity).")
    var unit: AccelerationUnit?

    @Option(help: "Where devices were worn: unknown, phone or wrist (default: unknown).")
    var placement: SensorPlacement?

    @Option(help: "Strictness of walking detection: lenient, normal or strict (default: normal).")
    var strictness: StepStrictness?

    @Option(
        help: ArgumentHelp(
            "Count in a session's streams of this name; may be repeated (default: accelerometer).", valueName: "name"))
    var stream: [String] = []

    func run() throws {
        var recordings: [CountedRecording] = []
        var status = ExitStatus.done
        for input in inputs(&status) {
            for loss in input.losses {
                say("\(input.stream.map { "\(input.name), \($0)" } ?? input.name): \(loss)")
                if status == .done { status = .doneWithLoss }
            }
            do {
                let settings = StepDetectorSettings(
                    placement: placement ?? .unknown, strictness: strictness ?? .normal)
                recordings.append(try CountedRecording(counting: input, perG: unit?.perG, settings))
            } catch {
                say("\(error)")
                status = .inputOutput
            }
        }
        if !recordings.isEmpty { StandardStream.output.print(try text(recordings)) }
        if status != .done { throw ExitCode(status.rawValue) }
    }

    /// The inputs to count, in the order given: files first, if there are any.
    private func inputs(_ status: inout ExitStatus) -> [CountInput] {
        let isDirectory = { (path: String) in Directory(FilePath(path)).exists }
        var inputs = CountInput.recordings(inFiles: paths.filter { !isDirectory($0) })
        for path in paths where isDirectory(path) {
            do throws(RecordingError) {
                inputs += try CountInput.recordings(
                    inSession: FilePath(path), streams: stream.isEmpty ? ["accelerometer"] : stream)
            } catch {
                say("\(error)")
                status = .inputOutput
            }
        }
        return inputs
    }

    private func text(_ recordings: [CountedRecording]) throws -> String {
        switch format {
        case .text: CountedRecording.overview(of: recordings).text
        case .json: try ReportTable.json(["recordings": recordings])
        case .csv: CountedRecording.table(of: recordings, rows).csv
        }
    }

    private func say(_ message: String) {
        StandardStream.error.print("\(Program.stepCounter): \(message)\n")
    }
}

extension CountedRecording.Rows: ExpressibleByArgument {}
