package import Files
import Glibc
package import LogManagerCore
package import Messages
package import Recording
import Synchronization
package import SystemPackage

/// Finds and removes the stream files of a data directory.
///
/// Everything is reached through open directories from the data directory down, without following symbolic links below it, so
/// that nothing elsewhere is ever touched. Any thread.
package final class DataDirectory: Sendable {
    private let root: DirectoryDescriptor
    private let path: FilePath
    /// The names of files being written, by session.
    private let current = Mutex<[SessionIdentifier: OpenFileNames]>([:])

    /// - Throws: `RecordingError` if the directory can't be opened.
    package init(_ data: FilePath) throws(RecordingError) {
        path = data
        do {
            root = try DirectoryDescriptor(data)
        } catch {
            throw RecordingError(error, action: "open", path: data)
        }
    }

    /// The contents of a session's directory.
    package struct Content: Sendable {
        package let session: SessionIdentifier
        var exists = true
        /// Whether no more samples will be recorded; false if unknown.
        var isOver = false
        /// Files with the names of finished ones, by log and in the order in which they were finished.
        var files: [ScannedFile] = []
        /// For a session that is over: bytes of everything else in the directory, and the number of stream files that are not
        /// finished.
        var otherBytes = 0
        var currentFiles = 0
        /// Why uncatalogued files are left alone, if `session.json` can't be read.
        package var warning: String?
        /// Whether the directory can't be read, for example because another user's recorder made it. Nothing is known about it
        /// then; other sessions are not affected.
        var isUnread = false
    }

    // MARK: Sessions

    /// The session names among the entries of `recordings`, sorted. None if nothing was recorded yet.
    /// - Throws: `RecordingError` if `recordings` can't be listed, or is a symbolic link.
    package func sessions() throws(RecordingError) -> [SessionIdentifier] {
        // The write-ahead log is there too, and a session could have its name.
        try sessions { try? SessionIdentifier(new: $0) }
    }

    /// The sessions that a closure finds in the names of directories, sorted.
    func sessions(named session: (String) -> SessionIdentifier?) throws(RecordingError) -> [SessionIdentifier] {
        do throws(Errno) {
            guard let recordings = try recordings() else { return [] }
            var sessions: [SessionIdentifier] = []
            try recordings.forEachName { name throws(Errno) in
                guard let session = session(String(cString: name)),
                    let status = try recordings.status(of: name), status.st_mode & S_IFMT == S_IFDIR
                else { return }
                sessions.append(session)
            }
            return sessions.sorted()
        } catch {
            throw recordingsError(error)
        }
    }

    /// Whether `recordings` has any entry that is not hidden. A recorder on an empty mount point has hidden files
    /// there.
    package var hasRecordings: Bool {
        var count = 0
        try? recordings()?.forEachName { name throws(Errno) in count += name[0] == 0x2E ? 0 : 1 }
        return count > 0
    }

    /// Opens a session's directory.
    /// - Returns: `nil` if there is none.
    /// - Throws: `Refusal` if it must not be touched.
    func open(_ session: SessionIdentifier) throws(Refusal) -> SessionListing? {
        do throws(Errno) {
            guard let recordings = try recordings() else { return nil }
            return SessionListing(session: session, descriptor: try DirectoryDescriptor(session.text, in: recordings))
        } catch .noSuchFileOrDirectory {
            return nil
        } catch .notDirectory, .tooManySymbolicLinkLevels {
            throw Refusal("its directory is a symbolic link or not a directory; its target is not touched")
        } catch {
            throw Refusal("its directory can't be opened: \(error)")
        }
    }

    /// Opens a session's directory to find out which files are gone.
    /// - Returns: `nil` if there is certainly no such directory: its name in `recordings` is free, or not a directory's.
    /// - Throws: `RecordingError` if that can't be found out, or if `recordings` does not exist: a disk may be missing.
    func openIfThere(_ session: SessionIdentifier) throws(RecordingError) -> SessionListing? {
        try openIfThere(session, in: try openRecordings())
    }

    private func openRecordings() throws(RecordingError) -> DirectoryDescriptor {
        do {
            return try DirectoryDescriptor(SessionDirectory.recordingsName, in: root)
        } catch {
            throw recordingsError(error)
        }
    }

    private func openIfThere(
        _ session: SessionIdentifier, in recordings: DirectoryDescriptor
    ) throws(RecordingError) -> SessionListing? {
        do throws(Errno) {
            return SessionListing(session: session, descriptor: try DirectoryDescriptor(session.text, in: recordings))
        } catch .noSuchFileOrDirectory, .notDirectory, .tooManySymbolicLinkLevels {
            return nil
        } catch {
            throw RecordingError(error, action: "open", path: path(of: session))
        }
    }

    /// The contents of a session. A file counts as finished if `session.json` lists it, or if the session is over and the file
    /// has the name of a finished file of one of its logs. If `session.json` can't be read, only catalogued files count: the
    /// recorder may still write to others.
    /// - Throws: `RecordingError` if the directory of all recordings can't be opened.
    package func content(of session: SessionIdentifier) throws(RecordingError) -> Content {
        let recordings = try openRecordings()
        do throws(RecordingError) {
            return try content(of: session, in: recordings)
        } catch {
            var content = Content(session: session)
            (content.isUnread, content.warning) = (true, error.description)
            return content
        }
    }

    private func content(
        of session: SessionIdentifier, in recordings: DirectoryDescriptor
    ) throws(RecordingError) -> Content {
        var content = Content(session: session)
        guard let folder = try openIfThere(session, in: recordings) else {
            content.exists = false
            return content
        }
        // Read first: a session that is over stays so, and files listed in `session.json` later are found at the next look.
        var sizes: [String: FinishedFile] = [:]
        var logs: Set<LogName> = []
        do {
            let record = try folder.record()
            content.isOver = record.status.isOver
            logs = Set(record.logs.map(\.name))
            for file in record.logs.lazy.flatMap(\.files) { sizes[file.name] = file }
        } catch {
            content.warning = error.description
        }
        do {
            var files: [ScannedFile] = []
            try folder.forEachFinished(of: logs) { name, identity in
                let listed = sizes.isEmpty ? nil : sizes[name.description]
                files.append(
                    ScannedFile(
                        session: session, name: name, identity: identity,
                        finished: name.moment(modified: identity.modified),
                        sha256: listed?.bytes == identity.bytes ? listed?.sha256 : nil,
                        isFinished: listed != nil || (content.isOver && logs.contains(name.log))))
            }
            content.files = Self.sorted(files)
            if content.isOver {
                content.otherBytes = try folder.otherBytes(besides: logs)
                content.currentFiles = try folder.currentNames(of: logs).count
            }
        } catch {
            throw RecordingError(error, action: "list", path: path(of: session))
        }
        if content.files.isEmpty { content.warning = nil }
        return content
    }

    /// Sorted by log, then in the order in which the files were finished.
    private static func sorted(_ files: [ScannedFile]) -> [ScannedFile] {
        Dictionary(grouping: files.indices) { Array(files[$0].log.text.utf8) }
            .sorted { $0.key.lexicographicallyPrecedes($1.key) }
            .flatMap { _, indices in
                // Parses each name once instead of at each comparison.
                indices.map { (order: SegmentOrder(files[$0].name), index: $0) }
                    .sorted { $0.order < $1.order }
                    .map { files[$0.index] }
            }
    }

    // MARK: Files

    /// Looks up a path, if it is that of a finished stream file.
    package func look(up path: String) -> PathLook.Outcome {
        do throws(Refusal) {
            let place = try LogFilePath(path)
            guard let identity = try open(place.session)?.identity(of: place.name) else {
                return .refused("it is not there")
            }
            return .found(identity)
        } catch {
            return .refused(error.description)
        }
    }

    /// The file at a path that a recorder announced as finished; `nil` if there is none.
    package func find(_ path: String) -> ScannedFile? {
        guard let place = try? LogFilePath(path), let folder = try? open(place.session) else { return nil }
        return (try? folder.find(place.name)) ?? nil
    }

    // MARK: Room

    /// Bytes of the write-ahead log, and of everything but stream files in sessions that are not over.
    /// - Parameter current: the bytes of the files being written in these sessions, by log.
    package func otherBytes(of sessions: some Sequence<SessionIdentifier>, besides current: [LogName: Int]) -> Int {
        var bytes = 0
        if let recordings = (try? recordings()) ?? nil {
            // There is one write-ahead log for each group of devices.
            try? recordings.forEachName { name in
                let name = String(cString: name)
                guard name.hasPrefix(".wal"), let log = try? DirectoryDescriptor(name, in: recordings) else { return }
                bytes += (try? log.bytes()) ?? 0
            }
        }
        for session in sessions { bytes += ((try? open(session)) ?? nil).flatMap { try? $0.otherBytes() } ?? 0 }
        return max(0, bytes - current.values.reduce(0, +))
    }

    /// Bytes of the files being written in sessions that are not over, by log.
    package func current(of sessions: some Sequence<SessionIdentifier>, at now: WallTime) -> [LogName: Int] {
        var files: [SessionIdentifier: OpenFileNames] = [:]
        let known = current.withLock { $0 }
        var bytes: [LogName: Int] = [:]
        for session in sessions {
            guard let folder = try? open(session),
                let names = OpenFileNames(in: folder, known: known[session], now: now)
            else { continue }
            files[session] = names
            for name in names.names {
                guard case .file(let identity, _) = folder.look(at: name),
                    let log = name.lastIndex(of: ".").flatMap({ LogName(existing: String(name[..<$0])) })
                else { continue }
                bytes[log, default: 0] += identity.bytes
            }
        }
        current.withLock { $0 = files }
        return bytes
    }

    /// Bytes on the disk that are available to unprivileged processes; nil if unknown.
    package func freeBytes() -> Int? {
        try? Directory(FilePath("/proc/self/fd/\(root.number)")).freeBytes()
    }

    // MARK: -

    /// The directory of all sessions; `nil` if there is none.
    func recordings() throws(Errno) -> DirectoryDescriptor? {
        do throws(Errno) {
            return try DirectoryDescriptor(SessionDirectory.recordingsName, in: root)
        } catch {
            if error == .noSuchFileOrDirectory { return nil }
            throw error
        }
    }

    private func path(of session: SessionIdentifier) -> FilePath {
        path.appending(SessionDirectory.recordingsName).appending(session.text)
    }

    private func recordingsError(_ errno: Errno) -> RecordingError {
        let recordings = path.appending(SessionDirectory.recordingsName)
        return switch errno {
        case .notDirectory, .tooManySymbolicLinkLevels:
            RecordingError(
                .invalidParameter, action: "list", path: recordings, reason: "it is a symbolic link, or no directory",
                advice: "Move the recordings into the data directory, or make the data directory itself the link.")
        case .noSuchFileOrDirectory:
            RecordingError(
                .notFound, action: "list", path: recordings, reason: "it is missing now, but existed before",
                advice: "Check that its disk is mounted. Create it again only if all recordings may be forgotten.")
        default: RecordingError(errno, action: "list", path: recordings)
        }
    }
}
