package import Files
import GRDB
package import LogManagerCore
import Messages
import Recording
import Storage

/// The ledger of removals: a file is entered before it is unlinked, and leaves the ledger once its removal would survive a power
/// failure. The next start completes the entries that are left.
extension Catalog {
    /// Enters files into the ledger. They no longer count, and appear in no list.
    ///
    /// Files that are no longer in the catalog are skipped.
    /// - Returns: the files to be removed now, as they were in the catalog.
    @discardableResult
    func beginRemoval(
        of files: [CatalogFile], reason: RemovalReason, date: WallTime
    ) throws(RecordingError) -> [CatalogFile] {
        var all: [CatalogFile] = []
        for batch in files.batches(of: Self.batchSize) {
            let begun = try write { database in
                let begun = try current(batch, database)
                let enter = try database.cachedStatement(
                    sql: """
                        INSERT INTO removal (\(CatalogSchema.columns), reason, date)
                        SELECT \(CatalogSchema.columns), ?, ? FROM file WHERE id = ?
                        """)
                let delete = try database.cachedStatement(sql: "DELETE FROM file WHERE id = ?")
                for file in begun {
                    try enter.execute(arguments: [reason.rawValue, date.nanosecondsSince1970, file.id])
                    try delete.execute(arguments: [file.id])
                }
                return begun
            }
            count(gone: begun)
            setRemoving(true, begun)
            all += begun
        }
        return all
    }

    func endRemoval(of files: some Sequence<CatalogFile>) throws(RecordingError) {
        for batch in Array(files).batches(of: Self.batchSize) {
            try write { database in
                let delete = try database.cachedStatement(sql: "DELETE FROM removal WHERE id = ?")
                var receipts: Set<Int64> = []
                for file in batch {
                    if file.receipt != nil, let id = try receiptID(of: file, in: "removal", database) {
                        receipts.insert(id)
                    }
                    try delete.execute(arguments: [file.id])
                }
                try dropUnused(receipts, database)
            }
            setRemoving(false, Array(batch))
        }
    }

    /// Takes files that could not be removed out of the ledger, with the marks they had before. The next look at the disk finds
    /// out whether they still exist.
    func takeBack(_ files: some Sequence<CatalogFile>) throws(RecordingError) {
        for batch in Array(files).batches(of: Self.batchSize) {
            let back = try write { database in
                let restore = try database.cachedStatement(
                    sql: """
                        INSERT INTO file (\(CatalogSchema.columns)) SELECT \(CatalogSchema.columns) FROM removal
                        WHERE id = ?
                        """)
                let delete = try database.cachedStatement(sql: "DELETE FROM removal WHERE id = ?")
                for file in batch {
                    try restore.execute(arguments: [file.id])
                    try delete.execute(arguments: [file.id])
                }
                return try current(batch, database)
            }
            count(added: back)
            setRemoving(false, back)
        }
    }

    /// The entries of the ledger: removals that were interrupted.
    package func interruptedRemovals() throws(RecordingError) -> [InterruptedRemoval] {
        try read { database in
            let rows = try Row.fetchCursor(
                database, sql: "SELECT \(CatalogSchema.columns), reason, date FROM removal ORDER BY id")
            var reader = CatalogFileReader(names: names)
            var removals: [InterruptedRemoval] = []
            while let row = try rows.next() {
                let word: String = row[14]
                guard let reason = RemovalReason(rawValue: word) else {
                    throw UnreadableRow("nothing is removed for \"\(word)\"")
                }
                removals.append(
                    InterruptedRemoval(
                        file: try reader.file(row, database), reason: reason,
                        date: WallTime(nanosecondsSince1970: row[15])))
            }
            return removals
        }
    }
}
