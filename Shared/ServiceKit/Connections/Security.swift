import SystemPackage
package import ZeroMQ

/// The protection of a program's connections: with keys, or in plain text as far as the user permits it.
package struct Security: Sendable {
    private struct Keys {
        let directory: KeyDirectory
        let own: CurveKeyPair
    }

    private let keys: Keys?
    private let allowsPlaintext: Bool

    /// Reads `keys` and `insecure`, and the program's key.
    /// - Throws: `ServiceError` (bad configuration) if the key does not exist or others can read it.
    package init(of program: Program, reading reader: ConfigurationReader) throws(ServiceError) {
        try self.init(showing: program.rawValue, reading: reader)
    }

    /// Reads `keys`, `insecure`, and the key that a program's subcommand presents: the one that the setting `client-key` names,
    /// or the program's own.
    /// - Throws: `ServiceError` (bad configuration) if the key does not exist or others can read it.
    package init(askingWith reader: ConfigurationReader, as program: Program) throws(ServiceError) {
        try self.init(showing: try reader.value(\ServiceSettings.$clientKey) ?? program.rawValue, reading: reader)
    }

    private init(showing name: String, reading reader: ConfigurationReader) throws(ServiceError) {
        allowsPlaintext = try reader.value(\ServiceSettings.$insecure)
        guard let path = try reader.value(\ServiceSettings.$keys) else {
            keys = nil
            return
        }
        let directory = KeyDirectory(path)
        keys = Keys(directory: directory, own: try directory.pair(of: name))
    }

    /// Refuses an endpoint at which everybody on the network could listen or send commands.
    /// - Throws: `ServiceError` (bad configuration) with advice.
    package func require(_ endpoint: Endpoint, listeningFor key: String) throws(ServiceError) {
        guard keys == nil, !allowsPlaintext else { return }
        try endpoint.requireLocal(listeningFor: key)
    }

    /// The protection of a connection to a program.
    /// - Throws: `ServiceError` (bad configuration) if the program's public key is missing, or if it is on another machine and
    ///   there are no keys.
    package func connecting(to program: Program, at endpoints: [Endpoint]) throws(ServiceError) -> SocketSecurity {
        guard let keys else {
            if !allowsPlaintext {
                for endpoint in endpoints { try endpoint.requireLocal(connectingTo: program) }
            }
            return .plain
        }
        // Connections within the process are not encrypted.
        guard endpoints.contains(where: { $0.transport != .inproc }) else { return .plain }
        return .client(keys.own, server: try keys.directory.publicKey(of: program.rawValue))
    }

    /// The protection of the program's own sockets: its key and a gate; without keys there is no gate.
    func listening(
        in context: Context, gate: (CurveKey, KeyDirectory) throws -> ClientGate
    ) throws -> (security: SocketSecurity, gate: ClientGate?) {
        // A thread of its own, because handshakes wait for it and a gate reads the disk.
        let thread = try SocketThread(name: "newcomers")
        guard let keys else { return (.plain(screenedBy: try Authenticator(context: context, thread: thread)), nil) }
        let gate = try gate(keys.own.publicKey, keys.directory)
        let authenticator = try Authenticator(context: context, thread: thread, decide: gate.admits)
        return (.server(keys.own, authenticator), gate)
    }

    /// Checks the allow-list for `--check`.
    /// - Throws: `ServiceError` (bad configuration) for its first problem.
    package func check() throws(ServiceError) {
        guard let keys else { return }
        if let problem = try keys.directory.allowList().problems.first {
            throw ServiceError(.badConfiguration, problem)
        }
    }
}
