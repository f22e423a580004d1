import SystemPackage
package import ZeroMQ

/// How a program protects its connections: with keys, or not at all, as far as the user allows that.
package struct Security: Sendable {
    /// The keys that a program has.
    private struct Keys {
        let directory: KeyDirectory
        let own: CurveKeyPair
    }

    private let keys: Keys?
    private let allowsPlaintext: Bool

    /// Reads `keys` and `insecure`, and the program's key.
    /// - Throws: `ServiceError` (bad configuration) if there is no such key or others can read it.
    package init(of program: Program, reading reader: ConfigurationReader) throws(ServiceError) {
        try self.init(showing: program.rawValue, reading: reader)
    }

    /// Reads `keys`, `insecure`, and the key that a program's subcommand shows: the one that the setting `client-key` names, or the
    /// program's own.
    /// - Throws: `ServiceError` (bad configuration) if there is no such key or others can read it.
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

    /// Refuses an endpoint on which everybody on the network could read along or give orders.
    /// - Throws: `ServiceError` (bad configuration) with what to do.
    package func require(_ endpoint: Endpoint, listeningFor key: String) throws(ServiceError) {
        guard keys == nil, !allowsPlaintext else { return }
        try endpoint.requireLocal(listeningFor: key)
    }

    /// How a connection to a program is protected.
    /// - Throws: `ServiceError` (bad configuration) if its public key is missing, or it is on another machine and there
    ///   are no keys.
    package func connecting(to program: Program, at endpoints: [Endpoint]) throws(ServiceError) -> SocketSecurity {
        guard let keys else {
            if !allowsPlaintext {
                for endpoint in endpoints { try endpoint.requireLocal(connectingTo: program) }
            }
            return .plain
        }
        // Nothing is encrypted within the process.
        guard endpoints.contains(where: { $0.transport != .inproc }) else { return .plain }
        return .client(keys.own, server: try keys.directory.publicKey(of: program.rawValue))
    }

    /// How the program's own sockets are protected: by its key, with a gate before them; without keys there is no gate.
    func listening(
        in context: Context, gate: (CurveKey, KeyDirectory) throws -> ClientGate
    ) throws -> (security: SocketSecurity, gate: ClientGate?) {
        // A thread of its own: handshakes wait for it, and a gate looks at the disk.
        let thread = try SocketThread(name: "newcomers")
        guard let keys else { return (.plain(screenedBy: try Authenticator(context: context, thread: thread)), nil) }
        let gate = try gate(keys.own.publicKey, keys.directory)
        let authenticator = try Authenticator(context: context, thread: thread, decide: gate.admits)
        return (.server(keys.own, authenticator), gate)
    }

    /// Reads the allow-list for `--check`.
    /// - Throws: `ServiceError` (bad configuration).
    package func check() throws(ServiceError) {
        guard let keys else { return }
        if let problem = try keys.directory.allowList().problems.first {
            throw ServiceError(.badConfiguration, problem)
        }
    }
}
