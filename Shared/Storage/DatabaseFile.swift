package import Files
package import GRDB
import Recording
package import SystemPackage

/// An SQLite database with one owning program.
///
/// Written data is durable when `write` returns (write-ahead log, each commit synced); after an error, nothing of the failed
/// transaction remains. A database that is damaged, or that a newer program created, is refused and left unchanged. Not
/// Sendable: one thread uses it and waits for the disk there. Errors are `RecordingError`.
package final class DatabaseFile {
    package let path: FilePath
    private let queue: DatabaseQueue
    /// Advice for a damaged database, in sentences.
    private let cure: String

    /// Opens a database for its owner; creates it and its directory if they do not exist.
    ///
    /// - Parameters:
    ///   - migrator: brings the database to this program's schema.
    ///   - program: the owner's name, for errors.
    ///   - cure: advice for a damaged database, in sentences.
    package init(
        _ path: FilePath, migrator: DatabaseMigrator, of program: String, whenDamaged cure: String
    ) throws(RecordingError) {
        self.path = path
        self.cure = cure
        try Directory(path.removingLastComponent()).create()
        // SQLite would let only the owner write; it gives the files beside the database the mode of this one.
        _ = try OpenFile(path, .readWrite, options: .create, permissions: .byFileMode, action: "open")
        do {
            queue = try DatabaseQueue(path: path.string, configuration: Self.configuration)
            if try queue.read(migrator.hasBeenSuperseded) {
                throw RecordingError(
                    .unreadable, action: "open", path: path, reason: "a newer \(program) made it",
                    advice: "Use that one, or a newer one.")
            }
            try migrator.migrate(queue)
        } catch {
            throw RecordingError(error, action: "open", database: path, whenDamaged: cure)
        }
    }

    /// Opens a database for reading while its owner has it open.
    package init(reading path: FilePath, whenDamaged cure: String) throws(RecordingError) {
        self.path = path
        self.cure = cure
        do {
            var configuration = Configuration()
            configuration.readonly = true
            configuration.busyMode = .timeout(2)
            queue = try DatabaseQueue(path: path.string, configuration: configuration)
        } catch {
            throw RecordingError(error, action: "open", database: path, whenDamaged: cure)
        }
    }

    private static var configuration: Configuration {
        var configuration = Configuration()
        // A person may inspect the database with another program; only its owner writes.
        configuration.busyMode = .timeout(2)
        configuration.prepareDatabase { database in
            // `secure_delete` overwrites deleted data, which may be personal. GRDB's `journalMode` is not used, because its
            // commits do not wait for the disk. Checkpoints are small (`wal_autocheckpoint`), because a commit waits for them.
            try database.execute(
                sql: """
                    PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 150;
                    PRAGMA cache_size = -16384; PRAGMA secure_delete = ON
                    """)
        }
        return configuration
    }

    /// Reads without a transaction, which would take longer than most queries: the owner knows what it writes.
    package func read<Value>(_ body: (Database) throws -> Value) throws(RecordingError) -> Value {
        do {
            return try queue.unsafeRead(body)
        } catch {
            throw RecordingError(error, action: "read", database: path, whenDamaged: cure)
        }
    }

    /// Reads a consistent snapshot, independent of concurrent writes.
    package func readSnapshot<Value>(_ body: (Database) throws -> Value) throws(RecordingError) -> Value {
        do {
            return try queue.read(body)
        } catch {
            throw RecordingError(error, action: "read", database: path, whenDamaged: cure)
        }
    }

    /// Changes the database completely or, after an error, not at all.
    package func write<Value>(_ body: (Database) throws -> Value) throws(RecordingError) -> Value {
        do {
            return try queue.write(body)
        } catch {
            throw RecordingError(error, action: "write to", database: path, whenDamaged: cure)
        }
    }

    /// Empties the database's own write-ahead log, which may still contain deleted data.
    /// - Returns: false if another program is reading the database; try again then.
    package func clearLog() throws(RecordingError) -> Bool {
        do {
            return try queue.writeWithoutTransaction { database in
                let isBusy: Bool? = try Row.fetchOne(database, sql: "PRAGMA wal_checkpoint(TRUNCATE)")?[0]
                return isBusy == false
            }
        } catch
            where (error as? DatabaseError)?.resultCode == .SQLITE_BUSY
            || (error as? DatabaseError)?.resultCode == .SQLITE_LOCKED
        {
            return false
        } catch {
            throw RecordingError(error, action: "write to", database: path, whenDamaged: cure)
        }
    }

    /// Checks a database without changing it, if it exists. Takes time in proportion to its size.
    /// - Throws: `unreadable` if it is damaged.
    package static func check(_ path: FilePath, whenDamaged cure: String) throws(RecordingError) {
        guard let name = path.lastComponent, Directory(path.removingLastComponent()).contains(name.string) else {
            return
        }
        let findings = try DatabaseFile(reading: path, whenDamaged: cure).read { database in
            try String.fetchAll(database, sql: "PRAGMA quick_check(3)")
        }
        guard findings == ["ok"] else {
            let damage = DatabaseError(resultCode: .SQLITE_CORRUPT, message: findings.joined(separator: "; "))
            throw RecordingError(damage, action: "read", database: path, whenDamaged: cure)
        }
    }
}
