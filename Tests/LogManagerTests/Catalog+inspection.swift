import Files
import GRDB
import Messages
import Recording

@testable import LogManagerCore
@testable import LogStorage

extension Catalog {
    /// Makes the catalog have what a session's directory has, at once.
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

    /// What a pragma answers, as text; empty if it answers nothing.
    func pragma(_ text: String) throws -> String {
        try read { database in
            try Row.fetchOne(database, sql: "PRAGMA \(text)").map { "\($0[0] as DatabaseValue)" } ?? ""
        }.filter { $0 != "\"" }
    }

    /// Changes the database behind the catalog's back.
    func execute(_ sql: String) throws {
        try write { try $0.execute(sql: sql) }
    }

    /// How many receipts are kept.
    func receiptCount() throws -> Int {
        try read { try Int.fetchOne($0, sql: "SELECT COUNT(*) FROM receipt") ?? 0 }
    }
}
