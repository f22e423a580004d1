package import Files
package import GRDB
import Recording
package import SystemPackage

/// An SQLite database that one program keeps: how it is opened, refused, written and read.
///
/// What was written is durable when `write` returns (write-ahead log, each commit synced), and after an error nothing of the
/// failed transaction is there. A database that can't be understood, or that a newer program made, is refused and stays as
/// it is. Not Sendable: one thread uses it, and waits for the disk there. Errors are `RecordingError`.
package final class DatabaseFile {
    /// Where it is.
    package let path: FilePath
    private let queue: DatabaseQueue
    /// What to do where the database is damaged: sentences.
    private let cure: String

    /// Opens a database for its owner, which makes it and its directory if they are not there.
    ///
    /// - Parameters:
    ///   - migrator: brings it to what this program knows.
    ///   - program: the owner's name, for the error.
    ///   - cure: what to do where the database is damaged: sentences.
    package init(
        _ path: FilePath, migrator: DatabaseMigrator, of program: String, whenDamaged cure: String
    ) throws(RecordingError) {
        self.path = path
        self.cure = cure
        try Directory(path.removingLastComponent()).create()
        // SQLite would let nobody but the owner write; it gives the files beside it the mode of this one.
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

    /// Opens a database that its owner has open, to read beside it.
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
        // Somebody may look into the database with another program; its owner is the only one that writes.
        configuration.busyMode = .timeout(2)
        configuration.prepareDatabase { database in
            // What is deleted may be personal, so its bytes are overwritten.
            // Not by `journalMode`, which makes commits wait for no disk. What was committed goes into the database in small
            // parts, since a commit waits for that.
            try database.execute(
                sql: """
                    PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 150;
                    PRAGMA cache_size = -16384; PRAGMA secure_delete = ON
                    """)
        }
        return configuration
    }

    /// Reads. Without a transaction, which would take longer than most queries: the owner knows what it writes.
    package func read<Value>(_ body: (Database) throws -> Value) throws(RecordingError) -> Value {
        do {
            return try queue.unsafeRead(body)
        } catch {
            throw RecordingError(error, action: "read", database: path, whenDamaged: cure)
        }
    }

    /// Reads what was there at one moment, whatever the owner writes meanwhile.
    package func readSnapshot<Value>(_ body: (Database) throws -> Value) throws(RecordingError) -> Value {
        do {
            return try queue.read(body)
        } catch {
            throw RecordingError(error, action: "read", database: path, whenDamaged: cure)
        }
    }

    /// Changes the database: all of it or, after an error, nothing.
    package func write<Value>(_ body: (Database) throws -> Value) throws(RecordingError) -> Value {
        do {
            return try queue.write(body)
        } catch {
            throw RecordingError(error, action: "write to", database: path, whenDamaged: cure)
        }
    }

    /// Empties the database's own write-ahead log, which may still have what was deleted.
    /// - Returns: false if another program reads the database, which has to be tried again.
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

    /// Looks through a database without changing it, if there is one. Takes time in proportion to its size.
    /// - Throws: `unreadable` where something is wrong with it.
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
