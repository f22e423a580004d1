package import Files
import Glibc
package import Messages
package import SystemPackage

/// Rebuilds the directory of a session that is over, and replaces the old one atomically: at every moment, even after a kill or a
/// power cut, either the old or the new directory is there and complete.
///
/// Recorded files are neither changed nor copied: each gets a second name in the new directory, link(2), and loses the first one
/// with the old directory. `session.json`, `report.json` and `SHA256SUMS` are kept under the names from `formerName`.
///
/// A leftover of a kill does not have a session's name; the next rewrite of the same session, or the next start of a
/// recorder, removes it.
package final class SessionRewrite {
    /// The new directory, before it gets the session's name.
    package let new: SessionDirectory

    private let recordings: Directory
    private let name: String
    private let calls: FileCalls
    /// Held while the session is rewritten: no import, no other rewrite and no annotation comes in between.
    private let lock: DirectoryLock

    package static let documents = [
        SessionDirectory.recordName, SessionDirectory.reportName, SessionDirectory.checksumsName,
    ]

    /// The name under which a document from before a fill is kept.
    static func formerName(_ document: String, fill: Int) -> String {
        var parts = document.split(separator: ".").map(String.init)
        parts.insert("before-fill-\(fill)", at: 1)
        return parts.joined(separator: ".")
    }

    /// The name of the new directory, before it gets the session's.
    static func temporaryName(_ name: String) -> String { ".\(name)~filling" }

    /// The name of a directory for files that a fill makes before it rewrites the session.
    static func scratchName(_ name: String) -> String { ".\(name)~fetched" }

    /// The session whose fill makes a directory of this name; nil for any other name.
    static func session(ofLeftover name: String) -> SessionIdentifier? {
        guard name.hasPrefix("."), let end = name.lastIndex(of: "~") else { return nil }
        let session = String(name[..<end].dropFirst())
        guard [temporaryName(session), scratchName(session)].contains(name) else { return nil }
        return SessionIdentifier(rawValue: session)
    }

    /// Locks a session against all other work on it.
    /// - Throws: `locked`.
    package static func lock(_ session: SessionDirectory) throws(RecordingError) -> DirectoryLock {
        let path = session.directory.path
        let name = path.lastComponent?.string ?? ""
        guard let lock = try DirectoryLock.take(name, in: Directory(path.removingLastComponent())) else {
            throw RecordingError(
                .locked, action: "change", path: path, reason: "another program is at work on it",
                advice: "Wait for it, and try again.")
        }
        return lock
    }

    /// Makes the new directory, with everything that stays as it is.
    ///
    /// - Parameters:
    ///   - session: its path must end in its name.
    ///   - lock: from `lock`.
    ///   - fill: the number of the fill.
    /// - Throws: `invalidParameter` if the session has directories or links in it; `notPermitted`, also if its owner
    ///   cannot be kept; `noSpace`.
    package init(
        of session: SessionDirectory, fill: Int, holding lock: DirectoryLock, calls: FileCalls = .system
    ) throws(RecordingError) {
        let path = session.directory.path
        let old = session.directory
        name = path.lastComponent?.string ?? ""
        recordings = Directory(path.removingLastComponent())
        self.calls = calls
        self.lock = lock
        let temporary = recordings.path.appending(Self.temporaryName(name))
        new = SessionDirectory(of: session.session, madeAt: temporary)
        if new.directory.exists { try Directory.removeTree(temporary) }
        try new.directory.createExclusively()
        // Keep the directory readable for the same users. A change of the owner may remove bits of the mode.
        try new.directory.takeOwner(of: old, calls: calls)
        if let mode = try? path.stat().permissions { _ = chmod(temporary.string, mode.rawValue) }
        for entry in try old.names().sorted() where Directory.finalName(ofTemporary: entry) == nil {
            guard session.isFile(entry) else {
                throw RecordingError(
                    .invalidParameter, action: "fill", path: path.appending(entry), reason: "it is not a file",
                    advice: "Move it out of the session's directory.")
            }
            let isKept = Self.documents.contains(entry)
            try old.link(
                entry, to: isKept ? Self.formerName(entry, fill: fill) : entry, in: new.directory, calls: calls)
        }
    }

    deinit {
        // Remove the unfinished new directory, or the old one that was replaced.
        try? Directory.removeTree(new.directory.path)
    }

    /// The session's documents, with the names under which they are kept.
    package static func former(
        of session: SessionDirectory, fill: Int
    ) throws(RecordingError) -> [SessionRecord.FormerFile] {
        var former: [SessionRecord.FormerFile] = []
        for document in documents where session.directory.contains(document) {
            former.append(
                SessionRecord.FormerFile(
                    name: formerName(document, fill: fill),
                    sha256: try FinishedFile.measure(session.directory.path.appending(document)).sha256))
        }
        return former
    }

    /// Writes the documents, and gives the new directory the session's name. When this returns, the result survives a power cut.
    ///
    /// - Parameters:
    ///   - latency: the report's latency, which can't be derived from anything else.
    ///   - known: files with a known hash.
    package func finish(
        _ record: SessionRecord, latency: SessionReport.Latency, known: [FinishedFile]
    ) throws(RecordingError) -> SessionReport {
        let report = SessionReport(record, commitLatency: latency)
        try new.write(report, calls: calls)
        try new.write(record, calls: calls)
        try new.writeChecksums(known: known, calls: calls)
        try new.directory.takeOwner(of: Directory(recordings.path.appending(name)), calls: calls)
        try new.directory.sync(calls: calls)
        try recordings.exchange(name, with: Self.temporaryName(name), calls: calls)
        try recordings.sync(calls: calls)
        return report
    }
}

extension SessionDirectory {
    /// Removes what killed fills left in a data directory, except of sessions that a program is at work on. Recorded
    /// files have second names there, and log-manager neither marks nor removes a file with two names.
    package static func removeRewrites(in data: FilePath) {
        for name in (try? recordings(in: data).names()) ?? [] {
            guard let session = SessionRewrite.session(ofLeftover: name) else { continue }
            let directory = SessionDirectory(session, in: data)
            guard let lock = try? SessionRewrite.lock(directory) else { continue }
            try? directory.removeRewrite()
            withExtendedLifetime(lock) {}
        }
    }

    /// Removes what killed fills left of a session.
    package func removeRewrite() throws(RecordingError) {
        let path = directory.path
        let name = path.lastComponent?.string ?? ""
        for left in [SessionRewrite.temporaryName(name), SessionRewrite.scratchName(name)] {
            let left = path.removingLastComponent().appending(left)
            if Directory(left).exists { try Directory.removeTree(left) }
        }
    }
}
