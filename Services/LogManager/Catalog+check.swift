import GRDB
import Recording
import SystemPackage

extension Catalog {
    /// Looks through the catalog of a data directory without changing it, if there is one. Takes time in proportion to its
    /// size.
    /// - Throws: `unreadable` where something is wrong with it.
    static func check(in data: FilePath) throws(RecordingError) {
        let path = path(in: data)
        guard Directory(path.removingLastComponent()).contains(Self.fileName) else { return }
        do {
            var configuration = Configuration()
            configuration.readonly = true
            let findings = try DatabaseQueue(path: path.string, configuration: configuration).read { database in
                try String.fetchAll(database, sql: "PRAGMA quick_check(3)")
            }
            if findings != ["ok"] {
                throw DatabaseError(resultCode: .SQLITE_CORRUPT, message: findings.joined(separator: "; "))
            }
        } catch {
            throw RecordingError(error, action: "read", catalog: path)
        }
    }
}
