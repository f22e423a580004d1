import GRDB
import Messages

/// The tables of the step history. Dates are nanoseconds since 1970.
///
/// Steps are stored by device and date, so that a query reads only what it counts. Two with the same date, after a clock was set
/// back, are a row with 2 `steps`. `expected` is how much a step increases the number of true steps expected in its bout, in
/// thousandths, so that a sum has each bout with its last confidence; null for steps counted before version 4. A span is a time
/// in which all samples of a device were counted.
enum StepHistorySchema {
    /// Migrates a database to the latest version.
    /// - Parameter now: the beginning of a new history.
    static func migrator(at now: WallTime) -> DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("1") { database in
            try database.execute(
                sql: """
                    CREATE TABLE history (begun INTEGER NOT NULL);
                    CREATE TABLE device (
                        id INTEGER PRIMARY KEY AUTOINCREMENT,
                        name TEXT NOT NULL UNIQUE
                    );
                    CREATE TABLE step (
                        device INTEGER NOT NULL,
                        date INTEGER NOT NULL,
                        steps INTEGER NOT NULL,
                        PRIMARY KEY (device, date)
                    ) WITHOUT ROWID;
                    CREATE TABLE stream (
                        id INTEGER PRIMARY KEY AUTOINCREMENT,
                        name TEXT NOT NULL UNIQUE,
                        epoch TEXT NOT NULL,
                        next INTEGER NOT NULL,
                        committed INTEGER NOT NULL
                    );
                    CREATE TABLE detector (
                        stream INTEGER PRIMARY KEY REFERENCES stream ON DELETE CASCADE,
                        epoch TEXT NOT NULL,
                        next INTEGER NOT NULL,
                        state BLOB NOT NULL,
                        settings TEXT NOT NULL,
                        boutStart INTEGER
                    );
                    CREATE TABLE subscription (
                        id TEXT PRIMARY KEY,
                        device TEXT NOT NULL,
                        updateOn INTEGER NOT NULL,
                        startDate INTEGER NOT NULL,
                        numberOfSteps INTEGER NOT NULL,
                        lastDate INTEGER NOT NULL
                    ) WITHOUT ROWID;
                    """)
            try database.execute(
                sql: "INSERT INTO history (begun) VALUES (?)", arguments: [now.nanosecondsSince1970])
        }
        // For earlier steps it is unknown which samples were counted.
        migrator.registerMigration("2") { database in
            try database.execute(
                sql: """
                    CREATE TABLE span (
                        device INTEGER NOT NULL,
                        number INTEGER NOT NULL,
                        start INTEGER NOT NULL,
                        "end" INTEGER NOT NULL,
                        lost INTEGER NOT NULL,
                        reason TEXT,
                        PRIMARY KEY (device, number)
                    ) WITHOUT ROWID;
                    CREATE INDEX spanByStart ON span (device, start);
                    CREATE TABLE clock (date INTEGER NOT NULL, ahead INTEGER NOT NULL, stood INTEGER NOT NULL);
                    ALTER TABLE subscription ADD COLUMN name TEXT;
                    ALTER TABLE subscription ADD COLUMN countedFrom INTEGER;
                    ALTER TABLE subscription ADD COLUMN renewedDate INTEGER;
                    ALTER TABLE subscription ADD COLUMN lifetime INTEGER;
                    """)
        }
        migrator.registerMigration("3") { database in
            try database.execute(sql: "ALTER TABLE detector ADD COLUMN dates TEXT")
        }
        migrator.registerMigration("4") { database in
            try database.execute(sql: "ALTER TABLE step ADD COLUMN expected INTEGER")
        }
        return migrator
    }
}
