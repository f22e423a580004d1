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
    /// - Parameters:
    ///   - now: the time at which the recipients' certificates must be valid.
    ///   - mayReplace: whether the older archives are known to have no file that was removed since.
    /// - Returns: the task's archive, then those of sections.
    /// - Throws: `alreadyExists` if an older archive may have the only copy of a removed file.
    package func archive(
        _ session: SessionDirectory, to archives: Directory, at now: WallTime, mayReplace: () -> Bool = { false }
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
                return try make(
                    contents, of: session, found: steps, to: archives, mayReplace: mayReplace, excluding: excluded)
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
        mayReplace: () -> Bool, excluding excluded: [String: String]
    ) throws(ArchiveError) -> [MadeArchive] {
        let plans = try ArchivePlan.plans(contents, choices, excluding: excluded)
        let names = plans.map { name($0.name) }
        try keepOnlyCopies(in: archives, named: names, of: session, mayReplace)
        var made: [(file: ArchiveFile, archive: MadeArchive)] = []
        for plan in plans { made.append(try make(plan, contents, of: session, found: steps, to: archives)) }
        // Files may have been removed meanwhile.
        try keepOnlyCopies(in: archives, named: names, of: session, mayReplace)
        // The task's archive is committed last: if it exists, the others exist too.
        for (file, _) in made.reversed() { try file.commit() }
        do throws(RecordingError) {
            try archives.sync(calls: calls)
        } catch {
            throw ArchiveError(error)
        }
        return made.map(\.archive)
    }

    /// Refuses to replace an archive that may have the only copy of a removed file. The receiver has those in the receipt.
    private func keepOnlyCopies(
        in archives: Directory, named names: [String], of session: SessionDirectory, _ mayReplace: () -> Bool
    ) throws(ArchiveError) {
        let existing = names.filter(archives.contains)
        guard !existing.isEmpty else { return }
        var removed: Set<String>
        do throws(RecordingError) {
            removed = try session.removedWithoutUpload()
        } catch {
            throw ArchiveError(error)
        }
        removed.subtract(SessionArchives(of: session)?.upload?.archived ?? [])
        guard !removed.isEmpty, !mayReplace(),
            let name = existing.first(where: { Self.mayHave(removed, archives.path.appending($0)) })
        else { return }
        throw ArchiveError(
            .alreadyExists,
            "\(archives.path.appending(name)) may have the only copy of \(removed.count.counted("removed file")) of session "
                + "\(session.session) and is not replaced. Move it away and keep it, then send archive.retry or repeat the "
                + "command; or use archiver create with --to and another directory.")
    }

    /// Whether an archive has any of these files, or can't be read: it may be encrypted.
    private static func mayHave(_ files: Set<String>, _ archive: FilePath) -> Bool {
        guard let directory = try? ZipDirectory(ArchiveInput(archive)) else { return true }
        return directory.entries.contains { files.contains($0.name) }
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
