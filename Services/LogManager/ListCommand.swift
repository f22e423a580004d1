import ArgumentParser
import Messages
import Recording
import ServiceKit

/// The `list` subcommand: the finished files, oldest first, according to the running log-manager.
struct ListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List finished stream files, oldest first.")

    @OptionGroup var options: ServiceOptions

    @Option(help: "List only files of this log.")
    var log: String?

    @Flag(help: "List only files that are not marked as uploaded.")
    var pending = false

    @Flag(help: "List only files that are marked as uploaded.")
    var uploaded = false

    @Option(help: "text, json, csv or ndjson.")
    var format = ReportFormat.text

    func validate() throws {
        if pending, uploaded { throw ValidationError("write --pending or --uploaded, or neither for all files") }
    }

    func run() async throws {
        try await RunningProgram.report(of: .logManager, options: options) { program in
            var files: [LogFileEntry] = []
            var more = true
            while more {
                let after = files.last?.path
                let piece =
                    pending
                    ? try await program.ask(LogsNeedingUpload(name: log, after: after))
                    : try await program.ask(LogsList(name: log, after: after, uploaded: uploaded ? true : nil))
                files += piece.files
                more = piece.more == true && !piece.files.isEmpty
            }
            if format == .json { return try ReportTable.json(LogFileList(files: files)) }
            return try ReportTable(files: files).text(format, values: files)
        }
    }
}

extension ReportTable {
    init(files: [LogFileEntry]) {
        self.init(
            columns: ["path", "bytes", "finished", "uploaded"],
            rows: files.map { [$0.path, "\($0.bytes)", $0.finished.utcText, $0.uploaded ? "yes" : "no"] },
            textColumns: [0, 2, 3])
    }
}
