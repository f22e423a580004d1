import Files
import FoundationEssentials
import GRDB
import LogManagerCore
import Messages
import Recording

/// Marks files as uploaded.
extension Catalog {
    /// Marks files as uploaded. Files marked before get the new date and receipt.
    /// - Returns: the files in their new state, without those that are no longer in the catalog.
    @discardableResult
    func mark(_ files: [CatalogFile], receipt: JSONValue?, date: WallTime) throws(RecordingError) -> [CatalogFile] {
        var receiptID: Int64?
        return try changeMarks(of: files) { database in
            if let receipt, receiptID == nil {
                let json = String(decoding: try WireCoding.encode(receipt), as: UTF8.self)
                try database.execute(sql: "INSERT INTO receipt (json) VALUES (?)", arguments: [json])
                receiptID = database.lastInsertedRowID
            }
            return (date, receipt, receiptID)
        }
    }

    /// Removes marks and their receipts.
    /// - Returns: the files in their new state, without those that are no longer in the catalog.
    @discardableResult
    func unmark(_ files: [CatalogFile]) throws(RecordingError) -> [CatalogFile] {
        try changeMarks(of: files) { _ in (nil, nil, nil) }
    }

    private func changeMarks(
        of files: [CatalogFile],
        _ mark: (Database) throws -> (date: WallTime?, receipt: JSONValue?, receiptID: Int64?)
    ) throws(RecordingError) -> [CatalogFile] {
        var all: [CatalogFile] = []
        for batch in files.batches(of: Self.batchSize) {
            let (old, new) = try write { database in
                let mark = try mark(database)
                let old = try current(batch, database)
                var receipts: Set<Int64> = []
                let statement = try database.cachedStatement(
                    sql: "UPDATE file SET uploaded = ?, receipt = ? WHERE id = ?")
                var new: [CatalogFile] = []
                for var file in old {
                    if file.receipt != nil, let id = try receiptID(of: file, in: "file", database) {
                        receipts.insert(id)
                    }
                    file.uploaded = mark.date
                    file.receipt = mark.receipt
                    try statement.execute(arguments: [mark.date?.nanosecondsSince1970, mark.receiptID, file.id])
                    new.append(file)
                }
                try dropUnused(receipts, database)
                return (old, new)
            }
            count(added: new, gone: old)
            all += new
        }
        return all
    }

    /// The files as the catalog has them now, each once.
    func current(_ files: some Sequence<CatalogFile>, _ database: Database) throws -> [CatalogFile] {
        let statement = try database.cachedStatement(sql: "SELECT \(CatalogSchema.columns) FROM file WHERE id = ?")
        var reader = CatalogFileReader(names: names)
        var seen: Set<Int64> = []
        return try files.compactMap { file in
            guard seen.insert(file.id).inserted, let row = try Row.fetchOne(statement, arguments: [file.id]) else {
                return nil
            }
            return try reader.file(row, database)
        }
    }

    func receiptID(of file: CatalogFile, in table: String, _ database: Database) throws -> Int64? {
        try Int64.fetchOne(
            try database.cachedStatement(sql: "SELECT receipt FROM \(table) WHERE id = ?"), arguments: [file.id])
    }

    /// Deletes those of the receipts that no file refers to any more.
    func dropUnused(_ receipts: Set<Int64>, _ database: Database) throws {
        if receipts.isEmpty { return }
        let statement = try database.cachedStatement(
            sql: """
                DELETE FROM receipt WHERE id = :id AND NOT EXISTS (SELECT 1 FROM file WHERE receipt = :id)
                    AND NOT EXISTS (SELECT 1 FROM removal WHERE receipt = :id)
                """)
        for id in receipts { try statement.execute(arguments: ["id": id]) }
    }
}
