package import Files
import GRDB
package import LogManagerCore
package import Messages
import Recording
import Storage
package import SystemPackage

/// Every finished stream file: its properties, its upload mark, and whether it is being removed. Also the rules for writing logs,
/// and the thresholds. An SQLite database, `<data>/catalog/catalog.sqlite`.
///
/// A change is durable when its method returns (write-ahead log, each commit synced); after an error, the failed transaction has
/// no effect. A transaction changes at most `batchSize` files, so a call with more files may be partly done. Totals are kept in
/// memory.
///
/// Not Sendable: one thread uses the catalog, and waits for the disk there. Errors are `RecordingError`.
package final class Catalog: CatalogReader {
    /// The maximum number of files in a transaction.
    static let batchSize = 1000

    private let database: DatabaseFile
    /// Whether the database's write-ahead log may still contain names of forgotten sessions.
    private var isLogStale = false
    var names: CatalogNames
    /// Without files that are being removed.
    package private(set) var usage: CatalogUsage
    package private(set) var rules: LogRules
    /// The limits; 0 means none.
    package private(set) var thresholds: LogThresholds
    /// The state of each threshold at the last comparison.
    package private(set) var crossings: [Threshold]
    /// Files that are being removed: they may still exist, and must not be added again.
    private(set) var removing: Set<LogFilePath>

    /// Opens the catalog of a data directory, or creates it.
    /// - Throws: `unreadable` if the database can't be understood. It is left unchanged.
    package init(in data: FilePath) throws(RecordingError) {
        database = try DatabaseFile(
            Self.path(in: data), migrator: CatalogSchema.migrator, of: "log-manager", whenDamaged: Self.cure)
        let content = try database.read(Content.init)
        names = content.names
        usage = content.usage
        rules = content.rules
        thresholds = content.thresholds
        crossings = content.crossings
        removing = content.removing
    }

    private static let cure =
        "Put a backup in its place; or move the catalog directory away and start again, which finds all files anew, but "
        + "forgets which of them were uploaded until archive.retry has each session marked again."

    package static let directoryName = "catalog"

    static func path(in data: FilePath) -> FilePath {
        data.appending(directoryName).appending("catalog.sqlite")
    }

    /// Checks the catalog of a data directory, if there is one, without changing it. Takes time in proportion to its size.
    /// - Throws: `unreadable` if the catalog is damaged.
    package static func check(in data: FilePath) throws(RecordingError) {
        try DatabaseFile.check(path(in: data), whenDamaged: cure)
    }

    // MARK: Transactions

    func read<Value>(_ body: (Database) throws -> Value) throws(RecordingError) -> Value {
        try database.read(body)
    }

    /// Changes the database in one transaction. After an error, nothing has changed.
    func write<Value>(_ body: (Database) throws -> Value) throws(RecordingError) -> Value {
        do throws(RecordingError) {
            let value = try database.write(body)
            names.commit()
            return value
        } catch {
            names.rollBack()
            throw error
        }
    }

    /// Removes forgotten data from the database's write-ahead log, as soon as no reader uses the database.
    /// - Parameter isStale: whether something was just forgotten.
    func clearLog(isStale: Bool = false) throws(RecordingError) {
        if isStale { isLogStale = true }
        if isLogStale { isLogStale = !(try database.clearLog()) }
    }

    /// Updates the totals after a transaction is durable.
    func count(added: [CatalogFile] = [], gone: [CatalogFile] = []) {
        for file in gone { usage.count(file, -1) }
        for file in added { usage.count(file) }
    }

    /// Notes that files are being removed, or no longer are.
    func setRemoving(_ isRemoving: Bool, _ files: [CatalogFile]) {
        for file in files {
            if isRemoving { removing.insert(file.place) } else { removing.remove(file.place) }
        }
    }

    // MARK: Logs

    /// Stores the rule of a log or a pattern.
    func set(_ configuration: LogConfiguration, for pattern: LogPattern) throws(RecordingError) {
        try write { database in
            try database.execute(
                sql: """
                    INSERT OR REPLACE INTO rule (name, format, maximumFileSize, maximumFileAge) VALUES (?, ?, ?, ?)
                    """,
                arguments: [
                    pattern.text, configuration.format, configuration.maximumFileSize, configuration.maximumFileAge,
                ])
        }
        rules.set(configuration, for: pattern)
    }

    /// Removes the rule of a log or a pattern. Files stay.
    func removeRule(of pattern: LogPattern) throws(RecordingError) {
        try write { try $0.execute(sql: "DELETE FROM rule WHERE name = ?", arguments: [pattern.text]) }
        rules.remove(pattern)
    }

    // MARK: Thresholds

    func setThresholds(_ new: LogThresholds) throws(RecordingError) {
        try write { database in
            for kind in Threshold.Kind.allCases {
                try database.execute(
                    sql: """
                        INSERT INTO threshold (kind, bytes) VALUES (?, ?)
                        ON CONFLICT (kind) DO UPDATE SET bytes = excluded.bytes
                        """, arguments: [kind.rawValue, new[keyPath: kind.limit]])
            }
        }
        thresholds = new
    }

    /// Stores whether a threshold is crossed, so that it fires once for a crossing even across restarts.
    func setCrossing(_ threshold: Threshold) throws(RecordingError) {
        try write { database in
            try database.execute(
                sql: """
                    INSERT INTO threshold (kind, isCrossed) VALUES (?, ?)
                    ON CONFLICT (kind) DO UPDATE SET isCrossed = excluded.isCrossed
                    """, arguments: [threshold.kind.rawValue, threshold.isCrossed])
        }
        crossings = crossings.map { $0.kind == threshold.kind ? threshold : $0 }
    }
}
