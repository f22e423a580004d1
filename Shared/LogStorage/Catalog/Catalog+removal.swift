package import Files
import GRDB
package import LogManagerCore
import Messages
import Recording
import Storage

/// The ledger of removals: a file is entered before it is unlinked, and leaves the ledger once that would survive a power
/// cut. The next start completes what is in it.
extension Catalog {
    /// Enters files into the ledger. From now on they count no more, and are in no list.
    ///
    /// Those that are not in the catalog any more are passed over.
    /// - Returns: the files that are to be removed now, as the catalog had them.
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

    /// Forgets files that were removed.
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

    /// Takes files back that could not be removed: they are as they were before, marks too. Whether the disk still has
    /// them is for the next look at it.
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

    /// What is in the ledger: removals that were interrupted.
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
