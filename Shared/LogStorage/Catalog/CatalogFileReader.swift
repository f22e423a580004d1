import Files
import FoundationEssentials
import GRDB
import LogManagerCore
import Messages
import Recording
import Storage

/// Turns rows with the columns of `CatalogSchema.columns` into files.
struct CatalogFileReader {
    let names: CatalogNames
    /// The last receipt read: many files in a row have the same.
    private var lastReceipt: (id: Int64, value: JSONValue)?

    init(names: CatalogNames) { self.names = names }

    mutating func file(_ row: Row, _ database: Database) throws -> CatalogFile {
        let digits = String(row[3] as Int64)
        guard digits.utf8.count <= 14, let format = LogFormat(number: row[5]), let count = row[4] as Int?, count >= 0
        else { throw UnreadableRow("file \(row[0] as Int64) has no name that can be") }
        let stamp = String(repeating: "0", count: 14 - digits.utf8.count) + digits
        return CatalogFile(
            id: row[0], session: try names.session(row[1]),
            name: FinishedName(log: try names.log(row[2]), stamp: stamp, count: count, format: format),
            identity: FileIdentity(
                device: UInt64(bitPattern: row[6]), inode: UInt64(bitPattern: row[7]), bytes: row[8],
                modified: row[9]),
            finished: WallTime(nanosecondsSince1970: row[10]),
            sha256: (row[11] as Data?)?.hexDigits,
            uploaded: (row[12] as Int64?).map(WallTime.init(nanosecondsSince1970:)),
            receipt: try (row[13] as Int64?).map { try receipt($0, database) })
    }

    private mutating func receipt(_ id: Int64, _ database: Database) throws -> JSONValue {
        if let lastReceipt, lastReceipt.id == id { return lastReceipt.value }
        let statement = try database.cachedStatement(sql: "SELECT json FROM receipt WHERE id = ?")
        guard let json = try String.fetchOne(statement, arguments: [id]) else {
            throw UnreadableRow("there is no receipt \(id)")
        }
        let value = try WireCoding.decode(JSONValue.self, from: json.utf8)
        lastReceipt = (id, value)
        return value
    }
}
