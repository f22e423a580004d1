package import Files
import GRDB
package import LogManagerCore
package import Messages
import Recording
import Storage
package import SystemPackage

/// Every finished log file: what is known of it, whether it was uploaded, and whether it is about to be removed. Also how
/// logs are to be written, and the thresholds. An SQLite database, `<data>/catalog/catalog.sqlite`.
///
/// What a method changed is durable when it returns (write-ahead log, each commit synced), and after an error nothing of
/// the failed transaction is there. A transaction has at most `batchSize` files, so a call with more of them may have
/// been done in part. How much there is in all is kept in memory.
///
/// Not Sendable: one thread uses it, and waits for the disk there. Errors are `RecordingError`.
package final class Catalog: CatalogReader {
    /// How many files a transaction changes at most.
    static let batchSize = 1000

    private let database: DatabaseFile
    /// Whether the database's write-ahead log may still have names of sessions that were forgotten.
    private var isLogStale = false
    var names: CatalogNames
    /// How much there is. Files that are being removed do not count.
    package private(set) var usage: CatalogUsage
    package private(set) var rules: LogRules
    /// The limits, 0 for none.
    package private(set) var thresholds: LogThresholds
    /// The thresholds as they stood when they were compared last.
    package private(set) var crossings: [Threshold]
    /// Files that are being removed: they may still be there, and are not found anew.
    private(set) var removing: Set<LogFilePath>

    /// Opens the catalog of a data directory, which is made if it is not there.
    /// - Throws: `unreadable` if there is a database that can't be understood. It stays as it is.
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
        + "forgets which of them were uploaded."

    package static let directoryName = "catalog"

    /// Where the catalog of a data directory is.
    static func path(in data: FilePath) -> FilePath {
        data.appending(directoryName).appending("catalog.sqlite")
    }

    /// Looks through the catalog of a data directory without changing it, if there is one. Takes time in proportion to its
    /// size.
    /// - Throws: `unreadable` if something is wrong with it.
    package static func check(in data: FilePath) throws(RecordingError) {
        try DatabaseFile.check(path(in: data), whenDamaged: cure)
    }

    // MARK: Transactions

    /// Reads from the database.
    func read<Value>(_ body: (Database) throws -> Value) throws(RecordingError) -> Value {
        try database.read(body)
    }

    /// Changes the database: all of it or, after an error, nothing.
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

    /// Clears the database's write-ahead log of what was forgotten, as soon as no reader uses the database.
    /// - Parameter isStale: whether something was forgotten just now.
    func clearLog(isStale: Bool = false) throws(RecordingError) {
        if isStale { isLogStale = true }
        if isLogStale { isLogStale = !(try database.clearLog()) }
    }

    /// Notes what a transaction changed, once it is durable.
    func count(added: [CatalogFile] = [], gone: [CatalogFile] = []) {
        for file in gone { usage.count(file, -1) }
        for file in added { usage.count(file) }
    }

    /// Notes files that are being removed, or are not any more.
    func setRemoving(_ isRemoving: Bool, _ files: [CatalogFile]) {
        for file in files {
            if isRemoving { removing.insert(file.place) } else { removing.remove(file.place) }
        }
    }

    // MARK: Logs

    /// Stores how a log, or those of a pattern, are to be written.
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

    /// Forgets how a log, or those of a pattern, are to be written. Files stay.
    func removeRule(of pattern: LogPattern) throws(RecordingError) {
        try write { try $0.execute(sql: "DELETE FROM rule WHERE name = ?", arguments: [pattern.text]) }
        rules.remove(pattern)
    }

    // MARK: Thresholds

    /// Changes the thresholds.
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

    /// Stores how a threshold stands, so that it fires once for a crossing, whatever restarts.
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
