import Files
import FoundationEssentials
import GRDB
import LogManagerCore
import Messages
import Recording

/// Updates the catalog from the disk.
extension Catalog {
    /// Adds a file that is known to be finished, or updates its entry, and its hash if that was unknown. A file that is being
    /// removed is left alone.
    @discardableResult
    func add(_ file: ScannedFile) throws(RecordingError) -> CatalogChanges {
        guard !removing.contains(file.place) else { return CatalogChanges() }
        let order = SegmentOrder(file.name)
        // Includes the files after this one, because each must be later than the one before.
        let (last, known) = try span(
            of: file.log, in: file.session, from: .including(order), limit: .max)
        if let old = known.first, SegmentOrder(old.name) == order, old.identity == file.identity {
            if old.sha256 == nil, let hash = file.hashBytes {
                try write {
                    try $0.execute(sql: "UPDATE file SET sha256 = ? WHERE id = ?", arguments: [hash, old.id])
                }
            }
            return CatalogChanges()
        }
        var found = [file]
        found += known.lazy.filter { SegmentOrder($0.name) != order }.map(ScannedFile.init)
        return try apply([CatalogDiff(known: known, found: found, after: last)], to: file.session, isOver: nil)
    }

    /// Where a span of files begins.
    enum SpanStart {
        case first
        case including(SegmentOrder)
        case after(SegmentOrder)
    }

    /// Files of a log in a session, in order.
    /// - Returns: the files, and when the file before them was finished.
    func span(
        of log: LogName, in session: SessionIdentifier, from start: SpanStart, limit: Int
    ) throws(RecordingError) -> (last: WallTime?, files: [CatalogFile]) {
        guard let sessionID = names.sessions[session]?.id, let logID = names.id(of: log) else { return (nil, []) }
        let (comparison, order): (String, SegmentOrder?) =
            switch start {
            case .first: (">", nil)
            case .including(let order): (">=", order)
            case .after(let order): (">", order)
            }
        let key: StatementArguments = [
            sessionID, logID, order?.stamp ?? -1, order?.count ?? 0, order?.format ?? 0,
        ]
        return try read { database in
            var last: Int64?
            if order != nil {
                let statement = try database.cachedStatement(
                    sql: """
                        SELECT finished FROM file INDEXED BY fileName WHERE session = ? AND log = ?
                            AND (stamp, count, format) \(comparison == ">" ? "<=" : "<") (?, ?, ?)
                        ORDER BY stamp DESC, count DESC, format DESC LIMIT 1
                        """)
                last = try Int64.fetchOne(statement, arguments: key)
            }
            let statement = try database.cachedStatement(
                sql: """
                    SELECT \(CatalogSchema.columns) FROM file INDEXED BY fileName WHERE session = ? AND log = ?
                        AND (stamp, count, format) \(comparison) (?, ?, ?)
                    ORDER BY stamp, count, format LIMIT ?
                    """)
            let rows = try Row.fetchCursor(statement, arguments: key + [limit])
            var reader = CatalogFileReader(names: names)
            var files: [CatalogFile] = []
            while let row = try rows.next() { files.append(try reader.file(row, database)) }
            return (last.map(WallTime.init(nanosecondsSince1970:)), files)
        }
    }

    /// The logs that have files in a session, by name.
    func logs(of session: SessionIdentifier) throws(RecordingError) -> [LogName] {
        guard let id = names.sessions[session]?.id else { return [] }
        return try read { database in
            // Steps from log to log instead of reading all files.
            let statement = try database.cachedStatement(
                sql: "SELECT MIN(log) FROM file INDEXED BY fileName WHERE session = ? AND log > ?")
            var logs: [LogName] = []
            var last: Int64 = -1
            while let next = try Int64.fetchOne(statement, arguments: [id, last]) {
                logs.append(try names.log(next))
                last = next
            }
            return logs.sorted { $0.isBefore($1) }
        }
    }

    /// Applies differences to the catalog in one transaction.
    /// - Parameter isOver: whether the session is over; nil if unknown.
    func apply(
        _ differences: [CatalogDiff], to session: SessionIdentifier, isOver: Bool?
    ) throws(RecordingError) -> CatalogChanges {
        let statusChanges = isOver != nil && names.sessions[session]?.isOver != isOver
        try clearLog()
        guard statusChanges || differences.contains(where: { !$0.isEmpty }) else { return CatalogChanges() }
        let added = try write { database in
            let id = try names.id(of: session, addingTo: database)
            if let isOver, statusChanges {
                try database.execute(sql: "UPDATE session SET isOver = ? WHERE id = ?", arguments: [isOver, id])
            }
            var receipts: Set<Int64> = []
            for difference in differences {
                for file in difference.gone + difference.changed where file.receipt != nil {
                    if let id = try receiptID(of: file, in: "file", database) { receipts.insert(id) }
                }
            }
            var added: [CatalogFile] = []
            for difference in differences {
                try delete(difference.gone, database)
                try update(difference, database)
                added += try insert(difference.added, of: id, database)
            }
            try dropUnused(receipts, database)
            return added
        }
        if let isOver { names.set(session, isOver: isOver) }
        var changes = CatalogChanges()
        changes.added = added.count
        count(added: added)
        for difference in differences {
            count(added: difference.updated.map(\.new), gone: difference.updated.map(\.old))
            count(gone: difference.gone)
            changes.gone += difference.gone
            changes.changed += difference.changed
        }
        return changes
    }

    /// Forgets a session whose directory is gone, unless it still has files, and the names of logs that no session has any more:
    /// both names may be personal data.
    func forget(_ session: SessionIdentifier) throws(RecordingError) {
        guard let id = names.sessions[session]?.id else { return }
        let (isForgotten, logs) = try write { database in
            try database.execute(
                sql: """
                    DELETE FROM session WHERE id = :id AND NOT EXISTS (SELECT 1 FROM file WHERE session = :id)
                        AND NOT EXISTS (SELECT 1 FROM removal WHERE session = :id)
                    """, arguments: ["id": id])
            guard database.changesCount > 0 else { return (false, [] as [LogName]) }
            return (true, try deleteUnusedLogs(database))
        }
        guard isForgotten else { return }
        names.remove(session)
        for log in logs { names.remove(log) }
        try clearLog(isStale: true)
    }

    private func deleteUnusedLogs(_ database: Database) throws -> [LogName] {
        let numbers = try Int64.fetchAll(
            database,
            sql: """
                DELETE FROM log WHERE NOT EXISTS (SELECT 1 FROM file WHERE file.log = log.id)
                    AND NOT EXISTS (SELECT 1 FROM removal WHERE removal.log = log.id) RETURNING id
                """)
        return numbers.compactMap { names.logNames[$0] }
    }

    private func delete(_ files: [CatalogFile], _ database: Database) throws {
        let statement = try database.cachedStatement(sql: "DELETE FROM file WHERE id = ?")
        for file in files { try statement.execute(arguments: [file.id]) }
    }

    private func update(_ difference: CatalogDiff, _ database: Database) throws {
        let statement = try database.cachedStatement(
            sql: "UPDATE file SET device = ?, inode = ?, bytes = ?, modified = ?, finished = ? WHERE id = ?")
        for (_, file) in difference.updated {
            try statement.execute(arguments: [
                Int64(bitPattern: file.identity.device), Int64(bitPattern: file.identity.inode), file.identity.bytes,
                file.identity.modified, file.finished.nanosecondsSince1970, file.id,
            ])
        }
        let forget = try database.cachedStatement(
            sql: "UPDATE file SET sha256 = NULL, uploaded = NULL, receipt = NULL WHERE id = ?")
        for file in difference.changed { try forget.execute(arguments: [file.id]) }
    }

    private func insert(_ files: [ScannedFile], of session: Int64, _ database: Database) throws -> [CatalogFile] {
        let statement = try database.cachedStatement(
            sql: """
                INSERT INTO file (session, log, stamp, count, format, device, inode, bytes, modified, finished, sha256)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """)
        return try files.map { file in
            let order = SegmentOrder(file.name)
            let hash = file.hashBytes
            try statement.execute(arguments: [
                session, try names.id(of: file.log, addingTo: database), order.stamp, order.count, order.format,
                Int64(bitPattern: file.identity.device), Int64(bitPattern: file.identity.inode), file.identity.bytes,
                file.identity.modified, file.finished.nanosecondsSince1970, hash,
            ])
            return CatalogFile(
                id: database.lastInsertedRowID, session: file.session, name: file.name, identity: file.identity,
                finished: file.finished, sha256: hash?.hexDigits, uploaded: nil, receipt: nil)
        }
    }
}

extension ScannedFile {
    /// A file in the state that the catalog has.
    fileprivate init(_ file: CatalogFile) {
        self.init(
            session: file.session, name: file.name, identity: file.identity, finished: file.finished,
            sha256: file.sha256, isFinished: true)
    }

    /// The hash in the catalog's form; `nil` if there is none.
    fileprivate var hashBytes: Data? {
        sha256?.hexBytes.flatMap { $0.count == 32 ? Data($0) : nil }
    }
}
