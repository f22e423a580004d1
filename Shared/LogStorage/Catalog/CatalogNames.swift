import GRDB
import Recording
import Storage

/// The catalog's sessions and logs, and their numbers. All are kept in memory, since there are few compared with files.
struct CatalogNames {
    private(set) var sessions: [SessionIdentifier: Session] = [:]
    private var sessionNames: [Int64: SessionIdentifier] = [:]
    private var logs: [[UInt8]: Int64] = [:]
    private(set) var logNames: [Int64: LogName] = [:]
    /// Names added by a transaction that may still fail.
    private var staged = Staged()

    struct Session {
        var id: Int64
        /// Whether no more samples will be recorded.
        var isOver: Bool
    }

    private struct Staged {
        var sessions: [SessionIdentifier] = []
        var logs: [LogName] = []
    }

    init(_ database: Database) throws {
        for row in try Row.fetchAll(database, sql: "SELECT id, name, isOver FROM session") {
            add(try SessionIdentifier(row[1] as String), Session(id: row[0], isOver: row[2]))
        }
        for row in try Row.fetchAll(database, sql: "SELECT id, name FROM log") {
            let text: String = row[1]
            guard let log = LogName(existing: text) else { throw UnreadableRow("no log is called \"\(text)\"") }
            add(log, id: row[0])
        }
    }

    func session(_ id: Int64) throws -> SessionIdentifier {
        guard let name = sessionNames[id] else { throw UnreadableRow("there is no session \(id)") }
        return name
    }

    func log(_ id: Int64) throws -> LogName {
        guard let name = logNames[id] else { throw UnreadableRow("there is no log \(id)") }
        return name
    }

    /// The number of a log. Names are compared byte by byte, as file names are.
    func id(of log: LogName) -> Int64? { logs[Array(log.text.utf8)] }

    /// The number of a session, which is added if new.
    mutating func id(of session: SessionIdentifier, addingTo database: Database) throws -> Int64 {
        if let known = sessions[session] { return known.id }
        try database.cachedStatement(sql: "INSERT INTO session (name) VALUES (?)").execute(arguments: [session.text])
        let id = database.lastInsertedRowID
        add(session, Session(id: id, isOver: false))
        staged.sessions.append(session)
        return id
    }

    /// The number of a log, which is added if new.
    mutating func id(of log: LogName, addingTo database: Database) throws -> Int64 {
        if let known = id(of: log) { return known }
        try database.cachedStatement(sql: "INSERT INTO log (name) VALUES (?)").execute(arguments: [log.text])
        let id = database.lastInsertedRowID
        add(log, id: id)
        staged.logs.append(log)
        return id
    }

    /// Call when the transaction is durable.
    mutating func commit() { staged = Staged() }

    /// Forgets the names that the failed transaction added.
    mutating func rollBack() {
        for session in staged.sessions { remove(session) }
        for log in staged.logs { remove(log) }
        staged = Staged()
    }

    mutating func remove(_ session: SessionIdentifier) {
        if let known = sessions.removeValue(forKey: session) { sessionNames[known.id] = nil }
    }

    mutating func remove(_ log: LogName) {
        if let id = logs.removeValue(forKey: Array(log.text.utf8)) { logNames[id] = nil }
    }

    mutating func set(_ session: SessionIdentifier, isOver: Bool) { sessions[session]?.isOver = isOver }

    private mutating func add(_ name: SessionIdentifier, _ session: Session) {
        sessions[name] = session
        sessionNames[session.id] = name
    }

    private mutating func add(_ name: LogName, id: Int64) {
        logs[Array(name.text.utf8)] = id
        logNames[id] = name
    }
}
