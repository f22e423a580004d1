import Files
import Glibc
import Messages
import Recording
import SystemPackage

/// A finished session, complete on disk and locked, whose gaps can be filled.
final class FillableSession {
    let session: SessionDirectory
    let record: SessionRecord
    let lock: DirectoryLock
    let archives: SessionArchives?
    /// The checksums of its files, by name.
    let hashes: [String: String]
    /// The given path, for messages.
    private let path: FilePath
    /// Locks out archivers.
    private var claim: DirectoryLock?

    /// Locks a session, and checks it.
    /// - Parameter isDryRun: whether the session is only read.
    /// - Throws: `invalidParameter` with the reason why it cannot be filled; `locked`, `unreadable`.
    init(_ path: FilePath, isDryRun: Bool) throws(RecordingError) {
        let session = try SessionDirectory(at: try Self.absolute(path))
        let lock = try SessionRewrite.lock(session)
        if !isDryRun { try session.removeRewrite() }
        let record = try session.record()
        let archives = SessionArchives(of: session)
        try Self.check(session, record, archives, path)
        // A session without gaps is not changed, so its files need no check.
        let verification = record.logs.contains { !$0.gaps.isEmpty } ? session.verify() : nil
        if let finding = verification?.findings.first(where: { $0.verdict == .damaged }) {
            throw Self.refusal(
                path, "the session does not verify: \(finding)",
                "Run `recorder verify` for details; restore the session, then fill it.")
        }
        self.session = session
        self.record = record
        self.lock = lock
        self.archives = archives
        self.path = path
        hashes = verification?.hashes ?? [:]
    }

    var gapCount: Int { record.logs.reduce(0) { $0 + $1.gaps.count } }

    /// The devices with gaps, in order.
    var devicesWithGaps: [String] { Set(record.logs.filter { !$0.gaps.isEmpty }.map(\.device)).sorted() }

    /// Locks archivers out of the session from now on.
    /// - Throws: `locked` while one is working on it; `invalidParameter` if its archive was uploaded, or must be kept.
    func claimArchives() throws(RecordingError) {
        if claim == nil { claim = try archives?.claim() }
        try Self.checkUpload(archives, path)
        try checkRemovedFiles()
    }

    /// Removes archives made earlier, and returns their names.
    func removeArchives() throws(RecordingError) -> [String] {
        guard let archives else { return [] }
        // log-manager may have removed files since the claim.
        try checkRemovedFiles()
        let made = try archives.made()
        try archives.remove(made)
        return made
    }

    // MARK: Refusals

    /// The error for a session that cannot be filled.
    func refusal(_ reason: String, _ advice: String) -> RecordingError { Self.refusal(path, reason, advice) }

    /// Refuses a device that the session does not have.
    func check(device: String) throws(RecordingError) {
        let all = Set(record.logs.map(\.device)).sorted()
        guard all.contains(device) else {
            throw refusal(
                "the session has no device \(device)",
                "It has \(all.joined(separator: ", ")): choose one with --device.")
        }
    }

    /// Refuses the session if its archive may have the only copy of a removed file.
    private func checkRemovedFiles() throws(RecordingError) {
        let made = try archives?.made() ?? []
        guard let archive = made.first(where: { !$0.hasSuffix(ConfirmedUpload.recordSuffix) }) else { return }
        let removed = try session.removedWithoutUpload().count
        guard removed > 0 else { return }
        throw refusal(
            "\(ConfirmedUpload.archivesName)/\(archive) may have the only copy of \(removed.counted("removed file"))",
            "Move it away and keep it, then fill the session again.")
    }

    private static func refusal(_ path: FilePath, _ reason: String, _ advice: String) -> RecordingError {
        RecordingError(.invalidParameter, action: "fill", path: path, reason: reason, advice: advice)
    }

    private static func check(
        _ session: SessionDirectory, _ record: SessionRecord, _ archives: SessionArchives?, _ path: FilePath
    ) throws(RecordingError) {
        guard record.status.isOver else {
            throw refusal(path, "the session is \(record.status)", "Stop it first.")
        }
        guard session.hasChecksums, record.logs.allSatisfy({ $0.file == nil }) else {
            throw refusal(
                path, "the session was not finished",
                "Let the recorder finish it, or repair a copy with `recorder recover`.")
        }
        try checkUpload(archives, path)
    }

    private static func checkUpload(_ archives: SessionArchives?, _ path: FilePath) throws(RecordingError) {
        guard let archives, let uploaded = archives.upload?.date else { return }
        throw refusal(
            path, "its archive was uploaded on \(uploaded.utcText), so the receiver has the session with the gaps",
            "Stop the archiver; rename the archive at the receiver, which replaces no file; move \(archives.receiptPath) away; "
                + "fill the session again; then start the archiver, which makes a new archive and uploads it.")
    }

    /// The resolved path of a session, so that its last component is a name.
    static func absolute(_ path: FilePath) throws(RecordingError) -> FilePath {
        guard let resolved = realpath(path.string, nil) else {
            throw RecordingError(
                .notFound, action: "find", path: path, reason: "it does not exist", advice: "Check the path.")
        }
        defer { free(resolved) }
        return FilePath(platformString: resolved)
    }
}
