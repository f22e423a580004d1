package import Files
import Messages
package import SystemPackage

/// The archives that an archiver made of a session, outside the session's directory. An archive from before a fill must not be
/// taken for one of the filled session.
package struct SessionArchives {
    /// The contents of `archives/<session>.archive.json`.
    private struct Made: Decodable {
        struct Archive: Decodable { var name: String }

        var session: SessionIdentifier
        var startDate: WallTime?
        var date: WallTime?
        var archives: [Archive]
    }

    private let recorded: SessionDirectory
    private let data: FilePath
    private let directory: Directory

    /// - Returns: nil for a session outside a data directory.
    package init?(of session: SessionDirectory) {
        let path = session.directory.path
        let recordings = path.removingLastComponent()
        guard recordings.lastComponent?.string == SessionDirectory.recordingsName,
            path.lastComponent?.string == session.session.text
        else { return nil }
        recorded = session
        data = recordings.removingLastComponent()
        directory = Directory(data.appending(ConfirmedUpload.archivesName))
    }

    private var session: SessionIdentifier { recorded.session }

    /// The receipt for the session; nil if its upload was not confirmed.
    package var upload: ConfirmedUpload? {
        (try? recorded.record()).flatMap { ConfirmedUpload.read(of: $0, in: data) }
    }

    package var receiptPath: FilePath { directory.path.appending(session.text + ConfirmedUpload.receiptSuffix) }

    /// Keeps archivers from the session as long as the lock exists.
    /// - Returns: nil if there is no directory of archives.
    /// - Throws: `locked` while an archiver works on the session.
    package func claim() throws(RecordingError) -> DirectoryLock? {
        guard directory.exists else { return nil }
        guard let claim = try DirectoryLock.take(session.text, in: directory) else {
            throw RecordingError(
                .locked, action: "change session \(session)", path: directory.path,
                reason: "an archiver is at work on it", advice: "Wait for it, and try again.")
        }
        return claim
    }

    /// The archives that were made and not uploaded, and the archiver's record of them. The record comes first: without it, an
    /// archiver makes the archives again. Archives of an earlier session of this name are not included.
    package func made() throws(RecordingError) -> [String] {
        guard directory.exists else { return [] }
        let record = try recorded.record()
        let note = session.text + ConfirmedUpload.recordSuffix
        var names = [session.text + ".zip", session.text + ".zip.p7m"]
        if let made = try? StoredJSON.read(Made.self, from: note, in: directory), made.session == session {
            let date = made.date ?? record.startDate
            guard record.startDate.isStart(noted: made.startDate, on: date) else { return [] }
            names += made.archives.map(\.name).filter { !$0.contains("/") && !$0.hasPrefix(".") }
        } else if let upload = ConfirmedUpload.newest(of: session, in: data),
            !upload.isOfSession(from: record.startDate)
        {
            return []
        }
        var found: [String] = []
        for name in [note] + names where directory.contains(name) && !found.contains(name) { found.append(name) }
        return found
    }

    /// Removes the files that `made` found.
    package func remove(_ names: [String]) throws(RecordingError) {
        for name in names { try Directory.removeFile(directory.path.appending(name)) }
        if !names.isEmpty { try directory.sync() }
    }
}
