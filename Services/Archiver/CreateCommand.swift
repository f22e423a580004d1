import ArchiverEngine
import Archives
import ArgumentParser
import Encryption
import Files
import Messages
import Recording
import ServiceKit
import SystemPackage

/// The `create` subcommand: makes the archives of a session's directory. Needs no running archiver.
struct CreateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create", abstract: "Make the archive of a finished session.",
        discussion: """
            The session is only read. Exits 0 if everything of it is in the archive, 3 if files had to be left out, 1 if \
            there is no archive because of the session, 74 because of the disk, 78 because of a certificate.
            """)

    @Argument(help: ArgumentHelp("The session's directory.", valueName: "dir"), completion: .directory)
    var directory: String

    @Option(
        help: ArgumentHelp(
            "Write the archive to this directory (default: archives beside recordings).", valueName: "dir"))
    var to: String?

    @OptionGroup var settings: SettingFlags<ArchiveSettings>

    func run() throws {
        FileMode.applyStandard()
        let settings = try ArchiveSettings(reading: settings.reader(for: .archiver))
        try ArchiveError.showing { () throws(ArchiveError) in
            let session: SessionDirectory
            do throws(RecordingError) {
                session = try SessionDirectory(at: FilePath(directory))
            } catch {
                throw ArchiveError(error)
            }
            let path = to.map { FilePath($0) } ?? FilePath(directory).appending("../../archives").lexicallyNormalized()
            let date = WallTime.now
            let recipients = try settings.recipients(at: date)
            for notice in recipients.compactMap(\.notice) {
                StandardStream.error.print("\(Program.archiver): \(notice)\n")
            }
            let archiver = SessionArchiver(choices: settings.choices, recipients: recipients)
            let archives = Directory(path)
            let claim = try self.claim(session.session, in: archives)
            try refuseRecorded(session.session, in: archives)
            let made = try archiver.archive(session, to: archives, at: date)
            withExtendedLifetime(claim) {}
            for archive in made {
                let metadata = archive.metadata
                let plain = metadata.files.reduce(0) { $0 + $1.bytes }
                StandardStream.output.print(
                    "\(path.appending(archive.name)): \(ByteCount(bytes: archive.bytes).rounded) for "
                        + "\(metadata.files.count) files of \(ByteCount(bytes: plain).rounded), "
                        + "\(archive.isEncrypted ? "encrypted" : "not encrypted"), SHA-256 \(archive.sha256)\n")
                for file in metadata.leftOut ?? [] {
                    StandardStream.output.print("left out: \(file.filename): \(file.reason)\n")
                }
            }
            return made.contains { $0.metadata.hasLoss } ? .doneWithLoss : .done
        }
    }

    /// Takes the session, so that no running archiver writes the same file meanwhile.
    private func claim(_ session: SessionIdentifier, in archives: Directory) throws(ArchiveError) -> DirectoryLock {
        do throws(RecordingError) {
            try archives.create()
            if let claim = try DirectoryLock.take(session.text, in: archives) { return claim }
        } catch {
            throw ArchiveError(error)
        }
        throw ArchiveError(
            .alreadyExists,
            "An archiver is at work on session \(session) in \(archives.path). Ask it with archive.create, or make the "
                + "archive in another directory with --to.")
    }

    /// The running archiver uploads the very bytes that it noted: in their place, others could never be delivered. Behind a
    /// receipt they may be replaced, since the receiver has them.
    private func refuseRecorded(_ session: SessionIdentifier, in archives: Directory) throws(ArchiveError) {
        let record = session.text + ConfirmedUpload.recordSuffix
        guard archives.contains(record) else { return }
        throw ArchiveError(
            .alreadyExists,
            "\(archives.path.appending(record)) lists an archive of session \(session) that is not uploaded yet, and is not "
                + "replaced. Have the running archiver upload it with archive.create, or make another archive in another "
                + "directory with --to.")
    }
}
