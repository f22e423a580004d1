import TestSupport

/// The server that fails on demand: Receivers/faulty_server.py.
struct FaultyServer: Sendable {
    @TaskLocal static var current: FaultyServer?

    let endpoint: String

    /// The server of the running suite.
    static func running() throws -> FaultyServer {
        guard let current else { throw TestFailure("the suite has no faulty server") }
        return current
    }
}
