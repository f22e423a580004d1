import ArgumentParser
import Messages
import Recording
import ServiceKit

/// The `list` subcommand: the state of each session, according to the running archiver.
struct ListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the archive and upload state of each session.")

    @OptionGroup var options: ServiceOptions

    @Flag(help: "Print a JSON object for each session.")
    var ndjson = false

    func run() async throws {
        try await RunningProgram.report(of: .archiver, options: options) { program in
            var archives: [ArchiveStatus] = []
            var more = true
            while more {
                let reply = try await program.ask(ArchiveList(after: archives.last?.session))
                archives += reply.archives
                more = reply.more == true && !reply.archives.isEmpty
            }
            return ndjson
                ? try archives.map { try ReportTable.json($0) }.joined() : ReportTable(archives: archives).text
        }
    }
}

extension ReportTable {
    fileprivate init(archives: [ArchiveStatus]) {
        self.init(
            columns: ["session", "state", "bytes", "path", "reason"],
            rows: archives.map { archive in
                [
                    archive.session, archive.state.rawValue, archive.bytes.map { "\($0)" } ?? "-", archive.path ?? "-",
                    archive.reason ?? "",
                ]
            }, textColumns: [0, 1, 3, 4])
    }
}
