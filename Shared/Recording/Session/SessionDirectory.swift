package import Files
package import Messages
package import SystemPackage

/// A session's directory, `<data>/recordings/<session>`, and the places of its files.
///
/// `session.json` and `report.json` are replaced as a whole: at every moment, even after a power cut, either the old or the new
/// one is there.
package struct SessionDirectory: Hashable, Sendable {
    package let session: SessionIdentifier
    package let directory: Directory

    package static let recordingsName = "recordings"
    /// The request for a session, and its state.
    package static let recordName = "session.json"
    package static let reportName = "report.json"
    package static let checksumsName = "SHA256SUMS"

    init(_ session: SessionIdentifier, in data: FilePath) {
        self.session = session
        directory = Directory(Self.recordings(in: data).path.appending(session.text))
    }

    /// The directory of a session, wherever it was copied to.
    ///
    /// - Throws: `notFound` or `unreadable`: the session's name is read from its `session.json`.
    package init(at path: FilePath) throws(RecordingError) {
        let directory = Directory(path)
        session = try StoredJSON.read(SessionRecord.self, from: Self.recordName, in: directory).session
        self.directory = directory
    }

    /// The directory in which a session is made before it gets its name.
    package init(of session: SessionIdentifier, madeAt path: FilePath) {
        self.session = session
        directory = Directory(path)
    }

    package static func recordings(in data: FilePath) -> Directory {
        Directory(data.appending(recordingsName))
    }

    /// Makes the directory for a new session, and the ones above it if they are missing.
    package static func create(
        _ session: SessionIdentifier, in data: FilePath
    ) throws(RecordingError) -> SessionDirectory {
        let new = SessionDirectory(session, in: data)
        try recordings(in: data).create()
        try new.directory.createExclusively()
        return new
    }

    /// Makes the directory for a new session, with its record.
    /// - Throws: `alreadyExists` if there is a session of this name, or another program is making one.
    package static func create(_ record: SessionRecord, in data: FilePath) throws(RecordingError) -> SessionDirectory {
        let directory = SessionDirectory(record.session, in: data)
        let recordings = recordings(in: data)
        try recordings.create()
        // Otherwise, two recorders of different shards could take a directory that has no record yet.
        guard let lock = try DirectoryLock.take(record.session.text, in: recordings) else {
            throw RecordingError(
                .alreadyExists, action: "make session \(record.session)", path: directory.directory.path,
                reason: "another program is creating, importing or changing a session of this name",
                advice: "Wait for it, or choose another name.")
        }
        defer { withExtendedLifetime(lock) {} }
        do throws(RecordingError) {
            _ = try create(record.session, in: data)
        } catch {
            guard error.code == .alreadyExists, try directory.isLeftEmpty() else { throw error }
            // The directory's entry may not be durable yet.
            try recordings.sync()
        }
        do throws(RecordingError) {
            try directory.write(record)
        } catch {
            // The session's name must be free for another try.
            try? Directory.removeTree(directory.directory.path)
            throw error
        }
        return directory
    }

    /// Whether a program was killed in `create` and left the directory with at most an unfinished record.
    private func isLeftEmpty() throws(RecordingError) -> Bool {
        guard directory.exists else { return false }
        return try directory.names().allSatisfy { Directory.finalName(ofTemporary: $0) == Self.recordName }
    }

    /// Removes a session of which only the record was stored, so that its name is free.
    /// - Returns: false if the directory has anything else. Then it is left as it is.
    package func removeIfOnlyRecord() throws(RecordingError) -> Bool {
        let names = try directory.names()
        guard names.allSatisfy({ (Directory.finalName(ofTemporary: $0) ?? $0) == Self.recordName }) else {
            return false
        }
        // If this is interrupted, `create` takes the directory.
        for name in names { try Directory.removeFile(directory.path.appending(name)) }
        _ = try Directory.removeEmpty(directory.path)
        try Directory(directory.path.removingLastComponent()).sync()
        return true
    }

    /// Removes the journal of version 0.6 or earlier, once the session's places are known without it.
    package func removeJournal() {
        try? Directory.removeFile(directory.path.appending(JournalEntry.fileName))
    }

    /// The directory of a session that was recorded earlier.
    package static func open(
        _ session: SessionIdentifier, in data: FilePath
    ) throws(RecordingError) -> SessionDirectory {
        let old = SessionDirectory(session, in: data)
        guard old.directory.contains(recordName) else {
            throw RecordingError(
                .notFound, action: "find session \(session)", path: old.directory.path,
                reason: "there is no \(recordName)", advice: "List the sessions for their names.")
        }
        return old
    }

    /// The sessions in a data directory, by name. Other entries are ignored.
    package static func sessions(in data: FilePath) throws(RecordingError) -> [SessionIdentifier] {
        try recordings(in: data).names()
            .compactMap { try? SessionIdentifier($0) }
            .filter { SessionDirectory($0, in: data).directory.contains(recordName) }
            .sorted()
    }

    /// Whether a symbolic link stands in place of the directory, as when the session was moved to another disk.
    var isLink: Bool {
        (try? directory.path.stat(followTargetSymlink: false).type) == .symbolicLink
    }

    /// The path of a file under the data directory, as in events.
    package func relativePath(of file: String) -> String {
        "\(Self.recordingsName)/\(session)/\(file)"
    }

    package func write(_ record: SessionRecord, calls: FileCalls = .system) throws(RecordingError) {
        try directory.replace(Self.recordName, with: StoredJSON.document(record), calls: calls)
    }

    package func record() throws(RecordingError) -> SessionRecord {
        try StoredJSON.read(SessionRecord.self, from: Self.recordName, in: directory)
    }

    package func write(_ report: SessionReport, calls: FileCalls = .system) throws(RecordingError) {
        try directory.replace(Self.reportName, with: StoredJSON.document(report), calls: calls)
    }

    /// - Throws: `notFound` while the session is not over, `unreadable`.
    package func report() throws(RecordingError) -> SessionReport {
        try StoredJSON.read(SessionReport.self, from: Self.reportName, in: directory)
    }

    // MARK: Checksums

    /// Replaces `SHA256SUMS`: the hash of every other file of the directory, in the format of sha256sum(1). The last file that is
    /// written to a session.
    ///
    /// Excluded are hidden files, directories, and names with a backslash or a control character, which that format writes
    /// differently and no file of the recorder has. Files that were removed earlier are not listed. Files removed later are
    /// listed in `removed.ndjson`, which changes and is excluded too: with `--ignore-missing`, sha256sum(1) checks the remaining
    /// files.
    /// - Parameter known: files with a known hash; they are not read again.
    package func writeChecksums(
        known: [FinishedFile] = [], calls: FileCalls = .system
    ) throws(RecordingError) {
        let known = Dictionary(known.map { ($0.name, $0.sha256) }) { _, last in last }
        var sums: [String: String] = [:]
        for name in try directory.names() where Self.hasChecksum(name) && isFile(name) {
            let path = directory.path.appending(name)
            do {
                sums[name] = if let taken = known[name] { taken } else { try FinishedFile.measure(path).sha256 }
            } catch {
                // The file was removed just now.
                if error.code != .notFound { throw error }
            }
        }
        try write(checksums: sums, calls: calls)
    }

    func write(checksums: [String: String], calls: FileCalls) throws(RecordingError) {
        let lines = checksums.sorted { $0.key < $1.key }.map { "\($0.value)  \($0.key)\n" }
        try directory.replace(Self.checksumsName, with: Array(lines.joined().utf8), calls: calls)
    }

    /// Whether `SHA256SUMS` exists: nothing more will be written to the session.
    package var hasChecksums: Bool { directory.contains(Self.checksumsName) }

    /// Reads `SHA256SUMS`: the hashes by the names of the files; `nil` if there is none.
    package func checksums() throws(RecordingError) -> [String: String]? {
        guard directory.contains(Self.checksumsName) else { return nil }
        var checksums: [String: String] = [:]
        // As a character, a combining mark at the beginning of a name would take the space before it.
        for line in try directory.read(Self.checksumsName).split(separator: UInt8(ascii: "\n")) {
            let digits = String(decoding: line.prefix(64), as: UTF8.self)
            let rest = line.dropFirst(64)
            guard digits.utf8.count == 64, digits.hexBytes != nil, rest.starts(with: "  ".utf8) else {
                throw RecordingError(
                    .unreadable, action: "read", path: directory.path.appending(Self.checksumsName),
                    reason: "a line of it is not a checksum", advice: "It may have been changed by hand.")
            }
            checksums[String(decoding: rest.dropFirst(2), as: UTF8.self)] = digits
        }
        return checksums
    }

    package func isFile(_ name: String) -> Bool {
        (try? directory.path.appending(name).stat(followTargetSymlink: false).type) == .regular
    }

    /// Whether `SHA256SUMS` includes files of this name.
    package static func hasChecksum(_ name: String) -> Bool {
        name != checksumsName && name != RemovedFile.fileName && !Directory.isHidden(name)
            && !name.unicodeScalars.contains { $0 < " " || $0 == "\\" }
    }
}
