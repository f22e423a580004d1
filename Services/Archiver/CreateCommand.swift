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
            The session is not changed. Exits 0 if the archive has the whole session, 3 if files had to be left out. If no \
            archive can be made, exits 1 because of the session, 74 because of the disk, 78 because of a certificate.
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

    /// Locks the session, so that no running archiver writes the same file in the meantime.
    private func claim(_ session: SessionIdentifier, in archives: Directory) throws(ArchiveError) -> DirectoryLock {
        do throws(RecordingError) {
            let isFirst = to == nil && !archives.exists
            try archives.create()
            // Otherwise, the programs' user could not use what root created. If that is not permitted, the directory
            // stays this user's.
            if isFirst { try? archives.takeOwner(of: Directory(archives.path.removingLastComponent())) }
            if let claim = try DirectoryLock.take(session.text, in: archives) { return claim }
        } catch {
            throw ArchiveError(error)
        }
        throw ArchiveError(
            .alreadyExists,
            "An archiver is working on session \(session) in \(archives.path). Send it archive.create, or make the "
                + "archive in another directory with --to.")
    }

    /// Refuses to replace an archive that the running archiver has noted for upload: with other bytes, it could never be
    /// delivered. Once there is a receipt, it may be replaced, since the receiver has it.
    private func refuseRecorded(_ session: SessionIdentifier, in archives: Directory) throws(ArchiveError) {
        let record = session.text + ConfirmedUpload.recordSuffix
        guard archives.contains(record) else { return }
        throw ArchiveError(
            .alreadyExists,
            "\(archives.path.appending(record)) lists an archive of session \(session) that is not uploaded yet, so it is not "
                + "replaced. Send archive.create to the running archiver to upload it, or make another archive in another "
                + "directory with --to.")
    }
}
