/// The servers to connect to, and the credentials.
package struct NATSSettings: Hashable, Sendable {
    /// `nats://host:4222` or `tls://…`: any servers of one cluster.
    package var servers: [String]
    /// Whether to connect to other servers of the cluster, too, as `servers` list them. They may be on any machine.
    package var usesListedServers = true
    /// The name of the program in the servers' monitoring.
    package var name: String
    package var user: String?
    package var password: String?
    /// A file with a JWT and its seed, as created by `nsc`.
    package var credentials: String?
    /// A user's public NKEY, and a file with its seed.
    package var nkey: (key: String, seedFile: String)? {
        get { nkeyUser.flatMap { user in seedFile.map { (user, $0) } } }
        set { (nkeyUser, seedFile) = (newValue?.key, newValue?.seedFile) }
    }
    private var nkeyUser: String?
    private var seedFile: String?
    /// Certificates in PEM that verify the servers; nil for the system's. TLS is used if this is set or a server's address begins
    /// with `tls://`.
    package var authorities: String?
    /// The program's own certificate and key, in PEM.
    package var certificate: String?
    package var key: String?

    package init(servers: [String], name: String) {
        self.servers = servers
        self.name = name
    }

    /// Whether the connection is encrypted.
    package var isEncrypted: Bool { authorities != nil || servers.contains { $0.hasPrefix("tls://") } }
}
