package import Files
import GRDB
package import LogManagerCore
package import Messages
package import Recording

/// Queries.
extension Catalog {
    /// The file at a path; `nil` if there is none, or if it is being removed.
    package func file(at path: String) throws(RecordingError) -> CatalogFile? {
        guard let place = try? LogFilePath(path), let session = names.sessions[place.session]?.id,
            let log = names.id(of: place.name.log)
        else { return nil }
        let order = SegmentOrder(place.name)
        return try read { database in
            let statement = try database.cachedStatement(
                sql: """
                    SELECT \(CatalogSchema.columns) FROM file
                    WHERE session = ? AND log = ? AND stamp = ? AND count = ? AND format = ?
                    """)
            guard
                let row = try Row.fetchOne(
                    statement, arguments: [session, log, order.stamp, order.count, order.format])
            else { return nil }
            var reader = CatalogFileReader(names: names)
            return try reader.file(row, database)
        }
    }

    /// Files in the order in which they were finished; those of the same time by path.
    /// - Parameters:
    ///   - log: `nil` for all logs.
    ///   - isPending: true for files not marked as uploaded, false for marked ones, `nil` for both.
    ///   - after: lists the files after the one at this path. If that is gone, those from its name's second on: none is left out,
    ///     and some may be repeated.
    ///   - limit: the maximum number of files.
    /// - Throws: `invalidParameter` if `after` is not the path of a log file.
    package func files(
        of log: LogName? = nil, isPending: Bool? = nil, after: String? = nil, limit: Int
    ) throws(RecordingError) -> [CatalogFile] {
        guard limit > 0 else { return [] }
        var logID: Int64?
        if let log {
            guard let id = names.id(of: log) else { return [] }
            logID = id
        }
        let start = try after.map { path throws(RecordingError) in try self.start(after: path) }
        return try read { database in
            var found: [CatalogFile] = []
            // Files of the same time are sorted by path here; the database does not order them.
            var group: [CatalogFile] = []
            func closeGroup() {
                group.sort { $0.path.utf8.lexicographicallyPrecedes($1.path.utf8) }
                if let start, let path = start.path, group.first?.finished == start.time {
                    group.removeAll { !path.utf8.lexicographicallyPrecedes($0.path.utf8) }
                }
                found += group.prefix(limit - found.count)
                group.removeAll()
            }
            let statement = try database.cachedStatement(sql: Self.listing(isOfLog: logID != nil, isPending: isPending))
            var arguments: StatementArguments = [start?.time.nanosecondsSince1970 ?? .min]
            if let logID { arguments += [logID] }
            let rows = try Row.fetchCursor(statement, arguments: arguments)
            var reader = CatalogFileReader(names: names)
            while let row = try rows.next() {
                let file = try reader.file(row, database)
                if let first = group.first, first.finished != file.finished {
                    closeGroup()
                    if found.count == limit { return found }
                }
                group.append(file)
            }
            closeGroup()
            return found
        }
    }

    /// The usage of each log, by name.
    package func usagePerLog() throws(RecordingError) -> [LogsUsage.Log] {
        var logs: [LogsUsage.Log] = []
        for (log, usage) in usage.logs.sorted(by: { $0.key < $1.key }) {
            logs.append(
                LogsUsage.Log(
                    name: log.text, files: usage.files, bytes: usage.bytes, pendingFiles: usage.pendingFiles,
                    pendingBytes: usage.pendingBytes, oldest: try oldest(of: log)))
        }
        return logs
    }

    /// When the oldest file of a log was finished.
    func oldest(of log: LogName) throws(RecordingError) -> WallTime? {
        guard let id = names.id(of: log) else { return nil }
        return try read { database in
            let statement = try database.cachedStatement(
                sql: "SELECT MIN(finished) FROM file INDEXED BY fileLogOrder WHERE log = ?")
            return try Int64.fetchOne(statement, arguments: [id]).map(WallTime.init(nanosecondsSince1970:))
        }
    }

    /// The known sessions, by name.
    package var sessions: [SessionIdentifier] { names.sessions.keys.sorted() }

    /// Sessions that were not over at the last look, by name.
    package var openSessions: [SessionIdentifier] { names.sessions.filter { !$0.value.isOver }.keys.sorted() }

    /// Whether a session is known and was not over at the last look.
    package func isOpen(_ session: SessionIdentifier) -> Bool { names.sessions[session]?.isOver == false }

    /// Where a listing begins: at a time, and if `path` is set, after that path among the files of exactly this time.
    private func start(after path: String) throws(RecordingError) -> (time: WallTime, path: String?) {
        if let file = try file(at: path) { return (file.finished, file.path) }
        do {
            let second = try LogFilePath(path).name.stampSecond
            return (WallTime(nanosecondsSince1970: second ?? .min), nil)
        } catch {
            throw RecordingError(
                .invalidParameter, action: "list files after \"\(path)\"", reason: error.description,
                advice: "Begin from the start.")
        }
    }

    /// The query for files from a time on. It names its index, so that it never reads all files.
    private static func listing(isOfLog: Bool, isPending: Bool?) -> String {
        let log = isOfLog ? "Log" : ""
        let (index, condition) =
            switch isPending {
            case nil: ("file\(log)Order", "")
            case true?: ("file\(log)Pending", " AND uploaded IS NULL")
            case false?: ("file\(log)Uploaded", " AND uploaded IS NOT NULL")
            }
        return """
            SELECT \(CatalogSchema.columns) FROM file INDEXED BY \(index)
            WHERE finished >= ?\(isOfLog ? " AND log = ?" : "")\(condition) ORDER BY finished
            """
    }
}
