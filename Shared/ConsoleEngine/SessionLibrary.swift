import Files
import Glibc
import Messages
import Recording
import SessionOverview
import SystemPackage

/// The sessions of a data directory, read-only. Confined to one thread, which waits for the disk.
final class SessionLibrary {
    /// The number of sessions in a page.
    private static let pageSize = 50
    /// Limit of overviews in memory, in bytes.
    private static let cacheLimit = 32 << 20

    /// A session as listed.
    struct Entry: Encodable {
        var session: String
        var task: String?
        var startDate: WallTime
        var endDate: WallTime?
        var status: String
        var samples: Int
        var gaps: Int
        var bytes: Int
        /// Nil while the session runs.
        var whole: Bool?
        /// The archive's path and size, if there is one.
        var archive: Archive?
        /// The receipt that the receiver confirmed.
        var receipt: JSONValue?
    }

    struct Archive: Encodable {
        var path: String
        var bytes: Int
    }

    struct Page: Encodable {
        var sessions: [Entry]
        /// The cursor of the next page; nil for the last.
        var next: String?
    }

    struct Details: Encodable {
        struct StreamGap: Encodable {
            var stream: StreamName
            var gap: Gap
        }

        struct File: Encodable {
            var name: String
            var size: Int
            /// From `SHA256SUMS`; nil before the session is over.
            var sha256: String?
        }

        var summary: SessionSummary
        /// Nil while the session runs.
        var report: SessionReport?
        var annotations: [Annotation]
        var gaps: [StreamGap]
        var steps: [SessionRecord.Step]
        var files: [File]
    }

    private struct Known {
        var stamp: Stamp
        var entry: Entry
    }

    /// Differs when a file changes.
    private struct Stamp: Hashable {
        var inode: UInt64
        var size: Int64
        var seconds: Int
        var nanoseconds: Int
    }

    private struct CachedOverview {
        var stamps: [Stamp?]
        var overview: StreamOverview
        var used: Int
    }

    private let data: FilePath
    private var known: [SessionIdentifier: Known] = [:]
    private var overviews: [String: CachedOverview] = [:]
    private var uses = 0

    init(in data: FilePath) { self.data = data }

    // MARK: List

    /// The sessions, the latest first.
    /// - Parameters:
    ///   - search: part of a session's name or task; nil for all.
    ///   - cursor: `next` of the previous page.
    func list(search: String?, after cursor: String?) throws(RecordingError) -> Page {
        guard SessionDirectory.recordings(in: data).exists else { return Page(sessions: []) }
        try look()
        let word = search?.lowercased() ?? ""
        var entries = known.values.map(\.entry).filter { entry in
            word.isEmpty || entry.session.lowercased().contains(word)
                || entry.task?.lowercased().contains(word) ?? false
        }.sorted { Self.cursor($0) > Self.cursor($1) }
        if let cursor { entries.removeAll { Self.cursor($0) >= cursor } }
        var page = Page(sessions: Array(entries.prefix(Self.pageSize)))
        if entries.count > page.sessions.count { page.next = page.sessions.last.map(Self.cursor) }
        let archives = Directory(data.appending("archives"))
        for index in page.sessions.indices { Self.note(in: archives, &page.sessions[index]) }
        return page
    }

    /// A session's position in the list, valid even once the session is gone: date texts sort like dates.
    private static func cursor(_ entry: Entry) -> String { "\(entry.startDate.utcText)_\(entry.session)" }

    /// Reads sessions that have changed.
    private func look() throws(RecordingError) {
        let sessions = try SessionDirectory.sessions(in: data)
        let names = Set(sessions)
        known = known.filter { names.contains($0.key) }
        for session in sessions {
            guard let directory = try? SessionDirectory.open(session, in: data),
                let stamp = Self.stamp(of: SessionDirectory.recordName, in: directory)
            else { continue }
            if known[session]?.stamp == stamp { continue }
            // A session that is being removed, or can't be read, is not listed.
            known[session] = (try? Self.entry(of: directory)).map { Known(stamp: stamp, entry: $0) }
        }
    }

    private static func entry(of directory: SessionDirectory) throws(RecordingError) -> Entry {
        let record = try directory.record()
        let report = record.status.isOver ? try? directory.report() : nil
        return Entry(
            session: record.session.text, task: record.task.isEmpty ? nil : record.task, startDate: record.startDate,
            endDate: record.endDate, status: record.status.rawValue,
            samples: record.logs.reduce(0) { $0 + $1.counts.written + $1.filledSamples },
            gaps: record.logs.reduce(0) { $0 + $1.gaps.count },
            bytes: record.logs.reduce(0) { sum, log in
                sum + log.files.reduce(0) { $0 + $1.bytes } + (log.file.map { directory.size(of: $0) } ?? 0)
            }, whole: report?.isWhole)
    }

    private static func note(in archives: Directory, _ entry: inout Entry) {
        let made = note(ConfirmedUpload.recordSuffix, of: entry, in: archives)
        let receipt = note(ConfirmedUpload.receiptSuffix, of: entry, in: archives)
        // An earlier session of this name may have left its archives.
        if made == nil && receipt == nil || made?.isOwn ?? false || receipt?.isOwn ?? false {
            for name in ["\(entry.session).zip", "\(entry.session).zip.p7m"] {
                guard let file = try? archives.path.appending(name).stat(followTargetSymlink: false) else { continue }
                entry.archive = Archive(path: "archives/\(name)", bytes: Int(file.size))
            }
        }
        if let receipt, receipt.isOwn,
            case .object(var fields) = try? WireCoding.decode(JSONValue.self, from: receipt.bytes)
        {
            // There may be thousands of files.
            fields["files"] = nil
            entry.receipt = .object(fields)
        }
    }

    /// The note that an archiver left, and whether it belongs to this session; nil if there is none.
    private static func note(
        _ suffix: String, of entry: Entry, in archives: Directory
    ) -> (bytes: [UInt8], isOwn: Bool)? {
        guard let bytes = try? archives.read(entry.session + suffix) else { return nil }
        // All kinds of notes have the fields that are read here.
        let note = try? WireCoding.decode(ConfirmedUpload.self, from: bytes)
        return (bytes, note?.isOfSession(from: entry.startDate) ?? false)
    }

    // MARK: One session

    /// The session's directory. The name is validated, so that it leads nowhere else.
    func directory(of session: String) throws(RecordingError) -> SessionDirectory {
        try SessionDirectory.open(try SessionIdentifier(session), in: data)
    }

    func details(of session: String) throws(RecordingError) -> Details {
        let directory = try directory(of: session)
        let record = try directory.record()
        let sums = try directory.checksums() ?? [:]
        return Details(
            summary: try directory.summary(), report: record.status.isOver ? try? directory.report() : nil,
            annotations: try directory.validAnnotations(of: record),
            gaps: record.logs.flatMap { log in
                log.gaps.map {
                    Details.StreamGap(stream: StreamName(device: log.device, stream: log.stream), gap: $0)
                }
            }, steps: Self.steps(of: record),
            files: try directory.directory.names().filter { Self.isShown($0, in: directory) }.sorted().map {
                Details.File(name: $0, size: directory.size(of: $0), sha256: sums[$0])
            })
    }

    /// The steps of a session, including the one that it began with.
    private static func steps(of record: SessionRecord) -> [SessionRecord.Step] {
        let first = SessionRecord.Step(date: record.startDate, timestamp: 0, step: record.step)
        return (record.step.isEmpty ? [] : [first]) + record.steps
    }

    private static func isShown(_ name: String, in directory: SessionDirectory) -> Bool {
        !Directory.isHidden(name) && directory.isFile(name)
    }

    /// Opens one of the files that `details` lists.
    func open(_ file: String, of session: String) throws(RecordingError) -> (file: FileDescriptor, count: Int)? {
        let directory = try directory(of: session)
        // Only a listed name is opened, so that no path leads elsewhere.
        guard try directory.directory.names().contains(file), Self.isShown(file, in: directory),
            let opened = try? FileDescriptor.open(
                directory.directory.path.appending(file), .readOnly, options: [.closeOnExec, .noFollow])
        else { return nil }
        guard let size = try? opened.seek(offset: 0, from: .end) else {
            try? opened.close()
            return nil
        }
        return (opened, Int(size))
    }

    // MARK: Overviews

    /// A stream's overview over its whole length, from memory if the session has not changed.
    /// - Returns: nil if the session has no such stream.
    func overview(
        of stream: StreamName, in session: String
    ) throws(RecordingError) -> (overview: StreamOverview, start: WallTime)? {
        let directory = try directory(of: session)
        let record = try directory.record()
        guard let log = record.logs.first(where: { $0.device == stream.device && $0.stream == stream.stream }) else {
            return nil
        }
        let names = [SessionDirectory.recordName] + log.files.map(\.name) + [log.file].compactMap { $0 }
        let stamps = names.map { Self.stamp(of: $0, in: directory) }
        let key = "\(session)/\(stream)"
        uses += 1
        if overviews[key]?.stamps == stamps {
            overviews[key]?.used = uses
        } else {
            overviews[key] = CachedOverview(
                stamps: stamps, overview: try StreamOverview(log, of: record, in: directory), used: uses)
            forget(but: key)
        }
        return overviews[key].map { ($0.overview, record.startDate) }
    }

    /// Drops the least recently used overviews if they exceed the limit.
    private func forget(but newest: String) {
        var bytes = overviews.values.reduce(0) { $0 + $1.overview.byteCount }
        while bytes > Self.cacheLimit,
            let oldest = overviews.filter({ $0.key != newest }).min(by: { $0.value.used < $1.value.used })
        {
            bytes -= oldest.value.overview.byteCount
            overviews[oldest.key] = nil
        }
    }

    private static func stamp(of name: String, in directory: SessionDirectory) -> Stamp? {
        guard let file = try? directory.directory.path.appending(name).stat(followTargetSymlink: false) else {
            return nil
        }
        return Stamp(
            inode: UInt64(file.inode.rawValue), size: Int64(file.size), seconds: Int(file.st_mtim.tv_sec),
            nanoseconds: Int(file.st_mtim.tv_nsec))
    }
}
