import ArgumentParser
import Messages
import Recording
import ServiceKit

/// The `usage` subcommand: sizes of the stream files, according to the running log-manager.
struct UsageCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "usage", abstract: "Show files and bytes of each log, and free disk space.")

    @OptionGroup var options: ServiceOptions

    @Option(help: "text, json, csv or ndjson.")
    var format = ReportFormat.text

    func run() async throws {
        try await RunningProgram.report(of: .logManager, options: options) { program in
            let usage = try await program.ask(LogsUsage(logs: true))
            if format == .json { return try ReportTable.json(usage) }
            let logs = usage.logs ?? []
            let rows = ReportTable(
                columns: ["log", "files", "bytes", "pending files", "pending bytes", "being written", "oldest"],
                rows: logs.map {
                    [
                        $0.name, "\($0.files)", "\($0.bytes)", "\($0.pendingFiles)", "\($0.pendingBytes)",
                        "\($0.currentBytes ?? 0)",
                        $0.oldest?.utcText ?? "",
                    ]
                }, textColumns: [0, 6])
            let total =
                "\(ByteCount(bytes: usage.totalBytes).rounded) in finished files, \(ByteCount(bytes: usage.pendingUploadBytes).rounded) of "
                + "them not uploaded; \(ByteCount(bytes: usage.currentBytes).rounded) being written, \(ByteCount(bytes: usage.otherBytes ?? 0).rounded) in "
                + "other files; "
                + "\(ByteCount(bytes: usage.freeBytes).rounded) free\n"
            return try rows.text(format, values: logs) + (format == .text ? total : "")
        }
    }
}
