import GRDB
import Recording

/// The tables of the catalog.
///
/// Session and log names are stored once, and the parts of a file's name as numbers, so that a million files take little space
/// and sort in the order in which they were finished.
enum CatalogSchema {
    /// The columns of the tables `file` and `removal`.
    static let columns =
        "id, session, log, stamp, count, format, device, inode, bytes, modified, finished, sha256, uploaded, receipt"

    /// Migrates a database to the schema of this program.
    static let migrator: DatabaseMigrator = {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("1") { database in
            try database.execute(
                sql: """
                    CREATE TABLE session (
                        id INTEGER PRIMARY KEY AUTOINCREMENT,
                        name TEXT NOT NULL UNIQUE,
                        isOver INTEGER NOT NULL DEFAULT 0
                    );
                    CREATE TABLE log (
                        id INTEGER PRIMARY KEY AUTOINCREMENT,
                        name TEXT NOT NULL UNIQUE
                    );
                    CREATE TABLE configuration (
                        log INTEGER PRIMARY KEY REFERENCES log,
                        format TEXT,
                        maximumFileSize INTEGER NOT NULL,
                        maximumFileAge REAL NOT NULL
                    );
                    CREATE TABLE threshold (
                        kind TEXT PRIMARY KEY,
                        bytes INTEGER NOT NULL DEFAULT 0,
                        isCrossed INTEGER NOT NULL DEFAULT 0
                    ) WITHOUT ROWID;
                    CREATE TABLE receipt (
                        id INTEGER PRIMARY KEY AUTOINCREMENT,
                        json TEXT NOT NULL
                    );
                    CREATE TABLE file (
                        id INTEGER PRIMARY KEY AUTOINCREMENT,
                        \(filePart)
                    );
                    CREATE UNIQUE INDEX fileName ON file (session, log, stamp, count, format);
                    CREATE INDEX fileOrder ON file (finished);
                    CREATE INDEX fileLogOrder ON file (log, finished);
                    CREATE INDEX filePending ON file (finished) WHERE uploaded IS NULL;
                    CREATE INDEX fileLogPending ON file (log, finished) WHERE uploaded IS NULL;
                    CREATE INDEX fileUploaded ON file (finished) WHERE uploaded IS NOT NULL;
                    CREATE INDEX fileLogUploaded ON file (log, finished) WHERE uploaded IS NOT NULL;
                    CREATE INDEX fileReceipt ON file (receipt) WHERE receipt IS NOT NULL;
                    CREATE TABLE removal (
                        id INTEGER PRIMARY KEY,
                        \(filePart),
                        reason TEXT NOT NULL,
                        date INTEGER NOT NULL
                    );
                    CREATE INDEX removalReceipt ON removal (receipt) WHERE receipt IS NOT NULL;
                    """)
        }
        // Rules exist for patterns too, and for logs without files.
        migrator.registerMigration("2") { database in
            try database.execute(
                sql: """
                    CREATE TABLE rule (
                        name TEXT PRIMARY KEY,
                        format TEXT,
                        maximumFileSize INTEGER NOT NULL,
                        maximumFileAge REAL NOT NULL
                    ) WITHOUT ROWID;
                    INSERT INTO rule SELECT name, format, maximumFileSize, maximumFileAge
                        FROM configuration JOIN log ON log.id = configuration.log;
                    DROP TABLE configuration;
                    """)
        }
        // Version 0.6 accepted rules for names that no log can have, such as one that ends in a stamp. Now only files need a log.
        migrator.registerMigration("3") { database in
            for name in try String.fetchAll(database, sql: "SELECT name FROM rule") where LogPattern(name) == nil {
                try database.execute(sql: "DELETE FROM rule WHERE name = ?", arguments: [name])
            }
            try database.execute(
                sql: """
                    DELETE FROM log WHERE NOT EXISTS (SELECT 1 FROM file WHERE file.log = log.id)
                        AND NOT EXISTS (SELECT 1 FROM removal WHERE removal.log = log.id)
                    """)
        }
        return migrator
    }()

    /// `stamp` holds the 14 digits as a number, `format` is `LogFormat.number`; `modified`, `finished` and `uploaded` are
    /// nanoseconds since 1970.
    private static let filePart = """
        session INTEGER NOT NULL REFERENCES session,
        log INTEGER NOT NULL REFERENCES log,
        stamp INTEGER NOT NULL,
        count INTEGER NOT NULL,
        format INTEGER NOT NULL,
        device INTEGER NOT NULL,
        inode INTEGER NOT NULL,
        bytes INTEGER NOT NULL,
        modified INTEGER NOT NULL,
        finished INTEGER NOT NULL,
        sha256 BLOB,
        uploaded INTEGER,
        receipt INTEGER REFERENCES receipt
        """
}
