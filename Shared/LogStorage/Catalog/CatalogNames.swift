import GRDB
import Recording
import Storage

/// The sessions and logs of the catalog by their numbers there. All of them are in memory: there are few beside the files.
struct CatalogNames {
    private(set) var sessions: [SessionIdentifier: Session] = [:]
    private var sessionNames: [Int64: SessionIdentifier] = [:]
    private var logs: [[UInt8]: Int64] = [:]
    private(set) var logNames: [Int64: LogName] = [:]
    /// What a transaction added that may fail yet.
    private var staged = Staged()

    /// A session.
    struct Session {
        var id: Int64
        /// Whether nothing more will be recorded.
        var isOver: Bool
    }

    private struct Staged {
        var sessions: [SessionIdentifier] = []
        var logs: [LogName] = []
    }

    /// Reads them.
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

    /// The session of a number.
    func session(_ id: Int64) throws -> SessionIdentifier {
        guard let name = sessionNames[id] else { throw UnreadableRow("there is no session \(id)") }
        return name
    }

    /// The log of a number.
    func log(_ id: Int64) throws -> LogName {
        guard let name = logNames[id] else { throw UnreadableRow("there is no log \(id)") }
        return name
    }

    /// The number of a log. Told apart byte by byte, as files are.
    func id(of log: LogName) -> Int64? { logs[Array(log.text.utf8)] }

    /// The number of a session, which is added if it is new.
    mutating func id(of session: SessionIdentifier, addingTo database: Database) throws -> Int64 {
        if let known = sessions[session] { return known.id }
        try database.cachedStatement(sql: "INSERT INTO session (name) VALUES (?)").execute(arguments: [session.text])
        let id = database.lastInsertedRowID
        add(session, Session(id: id, isOver: false))
        staged.sessions.append(session)
        return id
    }

    /// The number of a log, which is added if it is new.
    mutating func id(of log: LogName, addingTo database: Database) throws -> Int64 {
        if let known = id(of: log) { return known }
        try database.cachedStatement(sql: "INSERT INTO log (name) VALUES (?)").execute(arguments: [log.text])
        let id = database.lastInsertedRowID
        add(log, id: id)
        staged.logs.append(log)
        return id
    }

    /// The transaction is durable.
    mutating func commit() { staged = Staged() }

    /// The transaction failed.
    mutating func rollBack() {
        for session in staged.sessions { remove(session) }
        for log in staged.logs { remove(log) }
        staged = Staged()
    }

    /// Forgets a session.
    mutating func remove(_ session: SessionIdentifier) {
        if let known = sessions.removeValue(forKey: session) { sessionNames[known.id] = nil }
    }

    /// Forgets a log.
    mutating func remove(_ log: LogName) {
        if let id = logs.removeValue(forKey: Array(log.text.utf8)) { logNames[id] = nil }
    }

    /// Notes whether a session is over.
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
