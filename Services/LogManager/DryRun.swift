import Files
import LogManagerEngine
import Messages
import Recording
import ServiceKit

/// `--dry-run`: lists the files and the directories of sessions that `--when-full` would remove now.
enum DryRun {
    static func run(_ flags: FlagValues) async throws {
        FileMode.applyStandard()
        try await Program.logManager.showing {
            let reader = try ConfigurationReader(for: .logManager, flags: flags)
            let configuration = try ServiceConfiguration(for: .logManager, reading: reader)
            let settings = try LogManagerSettings(reading: reader)
            try reader.finish()
            let (files, directories) = try await settings.removalPreview(in: configuration.dataDirectory)
            StandardStream.output.print(try ReportTable(files: files).text(.text, values: files))
            let bytes = ByteCount(bytes: files.reduce(0) { $0 + $1.bytes })
            var sum = "\(files.count) files of \(bytes.rounded)"
            if !directories.isEmpty {
                let table = ReportTable(
                    columns: ["session directory", "bytes"], rows: directories.map { [$0.path, "\($0.bytes)"] },
                    textColumns: [0])
                StandardStream.output.print(table.text)
                let bytes = ByteCount(bytes: directories.reduce(0) { $0 + $1.bytes })
                sum += ", and the directories of \(directories.count.counted("session")) with \(bytes.rounded),"
            }
            StandardStream.output.print("\(sum) would be removed; nothing was removed\n")
        }
    }
}
