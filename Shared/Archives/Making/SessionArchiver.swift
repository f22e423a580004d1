import Compression
package import Encryption
package import Files
package import Messages
package import Recording
import SystemPackage

/// Makes archives of finished sessions. Blocks, since it reads every byte of a session.
///
/// A session's files are only read. No archive gets its name before all archives of the session are complete and on disk, and the
/// task's archive gets its name last. An error while making them leaves older archives unchanged.
package struct SessionArchiver: Sendable {
    private let choices: ArchiveChoices
    private let recipients: [Certificate]
    private let calls: FileCalls

    /// - Parameter recipients: the certificates to encrypt to; if empty, archives are not encrypted.
    package init(choices: ArchiveChoices = ArchiveChoices(), recipients: [Certificate] = [], calls: FileCalls = .system)
    {
        self.choices = choices
        self.recipients = recipients
        self.calls = calls
    }

    /// The name of the archive of a session's task.
    package func name(of session: SessionIdentifier) -> String {
        name(session.text)
    }

    private func name(_ stem: String) -> String { stem + (recipients.isEmpty ? ".zip" : ".zip.p7m") }

    /// Makes the archives of a session in a directory, replacing older archives of the same names.
    ///
    /// Stops if the current task is cancelled.
    /// - Parameter now: the time at which the recipients' certificates must be valid.
    /// - Returns: the task's archive, then those of sections.
    package func archive(
        _ session: SessionDirectory, to archives: Directory, at now: WallTime
    ) throws(ArchiveError) -> [MadeArchive] {
        for recipient in recipients { try recipient.check(at: now) }
        do throws(RecordingError) {
            try archives.create()
        } catch {
            throw ArchiveError(error)
        }
        // Otherwise the blocks of a session with very many files would stay allocated, and more would be needed.
        FreedMemory.returnLargeBlocks()
        let contents = try SessionContents(session)
        FreedMemory.trim()
        let steps = try choices.countedStreams.isEmpty ? [] : StepResults.results(of: session, choices.countedStreams)
        var excluded: [String: String] = [:]
        var isChecked = false
        while true {
            do throws(ArchiveError) {
                return try make(contents, of: session, found: steps, to: archives, excluding: excluded)
            } catch {
                // A file cannot be removed from a partial archive, so the archive is made again without it.
                guard choices.continuesOnFailure, let file = error.file, excluded[file] == nil else { throw error }
                excluded[file] = error.code.rawValue
                if isChecked || error.code == .invalidParameter { continue }
                // Otherwise each such file would cost another archive.
                isChecked = true
                for (file, reason) in try damagedFiles(contents, of: session) { excluded[file] = reason }
            }
        }
    }

    /// The files that cannot be read or are not what was recorded, and why. A file that cannot be opened is not
    /// included, because it is left out without making the archive again.
    private func damagedFiles(
        _ contents: SessionContents, of session: SessionDirectory
    ) throws(ArchiveError) -> [String: String] {
        var damaged: [String: String] = [:]
        for file in contents.files {
            guard let expected = file.sha256,
                let source = try? SessionFile(session.directory.path.appending(file.name))
            else { continue }
            do throws(ArchiveError) {
                if try source.readToEnd() != expected { damaged[file.name] = ArchiveError.Code.changed.rawValue }
            } catch {
                if error.code == .stopped { throw error }
                damaged[file.name] = error.code.rawValue
            }
        }
        return damaged
    }

    private func make(
        _ contents: SessionContents, of session: SessionDirectory, found steps: [JSONValue], to archives: Directory,
        excluding excluded: [String: String]
    ) throws(ArchiveError) -> [MadeArchive] {
        var made: [(file: ArchiveFile, archive: MadeArchive)] = []
        for plan in try ArchivePlan.plans(contents, choices, excluding: excluded) {
            made.append(try make(plan, contents, of: session, found: steps, to: archives))
        }
        // The task's archive is committed last: if it exists, the others exist too.
        for (file, _) in made.reversed() { try file.commit() }
        do throws(RecordingError) {
            try archives.sync(calls: calls)
        } catch {
            throw ArchiveError(error)
        }
        return made.map(\.archive)
    }

    private func make(
        _ plan: ArchivePlan, _ contents: SessionContents, of session: SessionDirectory, found: [JSONValue],
        to archives: Directory
    ) throws(ArchiveError) -> (ArchiveFile, MadeArchive) {
        let file = try ArchiveFile(name(plan.name), in: archives, calls: calls)
        let sink: any ByteSink = recipients.isEmpty ? file : try EncryptingSink(to: recipients, into: file)
        var writer = ArchiveWriter(plan, contents, choices, found: found, into: sink)
        let metadata = try writer.write(session)
        try sink.finish()
        let archive = MadeArchive(
            name: file.name, section: plan.section, bytes: file.count, sha256: file.sha256,
            isEncrypted: !recipients.isEmpty, lastAnnotation: writer.lastAnnotation, metadata: metadata)
        return (file, archive)
    }
}
