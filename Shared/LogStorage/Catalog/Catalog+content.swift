import GRDB
import LogManagerCore
import Messages
import Recording
import Storage

extension Catalog {
    /// The parts of the database that are kept in memory.
    struct Content {
        let names: CatalogNames
        var usage = CatalogUsage()
        var rules = LogRules()
        var thresholds = LogThresholds()
        var crossings: [Threshold] = []
        var removing: Set<LogFilePath> = []

        init(_ database: Database) throws {
            names = try CatalogNames(database)
            try readUsage(database)
            for row in try Row.fetchAll(
                database, sql: "SELECT name, format, maximumFileSize, maximumFileAge FROM rule")
            {
                let name: String = row[0]
                guard let pattern = LogPattern(name) else { throw UnreadableRow("no log is called \"\(name)\"") }
                rules.set(
                    LogConfiguration(name: name, format: row[1], maximumFileSize: row[2], maximumFileAge: row[3]),
                    for: pattern)
            }
            var crossed: Set<Threshold.Kind> = []
            for row in try Row.fetchAll(database, sql: "SELECT kind, bytes, isCrossed FROM threshold") {
                let word: String = row[0]
                guard let kind = Threshold.Kind(rawValue: word) else {
                    throw UnreadableRow("there is no threshold \"\(word)\"")
                }
                thresholds[keyPath: kind.limit] = row[1]
                if row[2] { crossed.insert(kind) }
            }
            crossings = Threshold.Kind.allCases.map { Threshold($0, isCrossed: crossed.contains($0)) }
            let rows = try Row.fetchCursor(database, sql: "SELECT \(CatalogSchema.columns) FROM removal")
            var reader = CatalogFileReader(names: names)
            while let row = try rows.next() {
                removing.insert(try reader.file(row, database).place)
            }
        }

        private mutating func readUsage(_ database: Database) throws {
            let rows = try Row.fetchCursor(
                database,
                sql: """
                    SELECT log, COUNT(*), SUM(bytes), COUNT(*) - COUNT(uploaded),
                        SUM(CASE WHEN uploaded IS NULL THEN bytes ELSE 0 END)
                    FROM file GROUP BY log
                    """)
            while let row = try rows.next() {
                usage.add(
                    LogUsage(files: row[1], bytes: row[2], pendingFiles: row[3], pendingBytes: row[4]),
                    of: try names.log(row[0]))
            }
        }
    }
}
