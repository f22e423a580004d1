import Files
import GRDB
import Messages
import Recording

@testable import LogManagerCore
@testable import LogStorage

extension Catalog {
    /// Updates the catalog to a session's directory in one step.
    func reconcile(with content: DataDirectory.Content, in folder: DataDirectory) throws -> CatalogChanges {
        var reconciliation = try Reconciliation(of: content, in: self, folder: folder)
        var changes = CatalogChanges()
        while let step = try reconciliation.step() { changes += step }
        return changes
    }

    /// Stores a rule under its own name.
    func set(_ configuration: LogConfiguration) throws(RecordingError) {
        guard let pattern = LogPattern(configuration.name) else {
            throw RecordingError(.invalidParameter, action: "add", reason: "no log has that name", advice: "")
        }
        try set(configuration, for: pattern)
    }

    /// A pragma's result as text; empty if there is none.
    func pragma(_ text: String) throws -> String {
        try read { database in
            try Row.fetchOne(database, sql: "PRAGMA \(text)").map { "\($0[0] as DatabaseValue)" } ?? ""
        }.filter { $0 != "\"" }
    }

    /// Changes the database without the catalog's knowledge.
    func execute(_ sql: String) throws {
        try write { try $0.execute(sql: sql) }
    }

    /// The number of stored receipts.
    func receiptCount() throws -> Int {
        try read { try Int.fetchOne($0, sql: "SELECT COUNT(*) FROM receipt") ?? 0 }
    }
}
