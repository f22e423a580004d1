package import ArchiverEngine
import ArchiveStorage
package import ArgumentParser
import Files
import Messages
package import ServiceKit
import Upload

@main
package struct ArchiverCommand: ServiceCommand {
    package static let program = Program.archiver
    package static let configuration: CommandConfiguration = {
        var configuration = commandConfiguration(
            abstract: "Turn finished sessions into archives, and upload them to a receiver.",
            discussion: """
                An upload is complete when the receiver has confirmed size and hash. The archiver then writes a receipt \
                and marks the session's files in log-manager. It removes nothing unless --keep-archives or \
                --keep-recordings allow it.
                """)
        configuration.subcommands += [ListCommand.self, CreateCommand.self, VerifyCommand.self, ExtractCommand.self]
        return configuration
    }()

    @OptionGroup package var options: ProgramOptions

    @OptionGroup package var settings: SettingFlags<ArchiverSettings>

    package init() {}

    package func validate() throws {
        if try UploadSettings.hasSecret(in: settings.reader(for: .archiver)) {
            throw ValidationError(
                "--upload-to has a query, which every user of this machine can read: put it into the configuration file "
                    + "or HOLDFAST_ARCHIVER_UPLOAD_TO")
        }
    }

    package static func check(_ settings: ArchiverSettings, _ configuration: ServiceConfiguration) async throws {
        try settings.uploads.check()
        let folder = ArchiveDirectory(configuration.dataDirectory)
        try settings.uploads.check(archives: folder.directory.path)
        let date = WallTime.now
        try settings.checkCertificates(at: date)
        do throws(RecordingError) {
            for session in try folder.sessions() { _ = try folder.view(of: session, at: date) }
        } catch {
            throw ServiceError(.inputOutput, "\(error)")
        }
    }

    package static func start(_ settings: ArchiverSettings, on host: ServiceHost) async throws -> RunningService {
        try await .archiver(settings, on: host)
    }
}
