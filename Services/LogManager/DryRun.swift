import Files
import LogManagerEngine
import Messages
import Recording
import ServiceKit

/// `--dry-run`: lists the files that `--when-full` would remove now.
enum DryRun {
    static func run(_ flags: FlagValues) async throws {
        FileMode.applyStandard()
        try await Program.logManager.showing {
            let reader = try ConfigurationReader(for: .logManager, flags: flags)
            let configuration = try ServiceConfiguration(for: .logManager, reading: reader)
            let settings = try LogManagerSettings(reading: reader)
            try reader.finish()
            let files = try await settings.filesToRemove(in: configuration.dataDirectory)
            StandardStream.output.print(try ReportTable(files: files).text(.text, values: files))
            let bytes = files.reduce(0) { $0 + $1.bytes }
            StandardStream.output.print(
                "\(files.count) files of \(ByteCount(bytes: bytes).rounded) would be removed; nothing was removed\n")
        }
    }
}
