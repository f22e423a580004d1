/// Which servers a program connects to, and as whom.
package struct NATSSettings: Hashable, Sendable {
    /// `nats://host:4222`, or `tls://…`: any of one cluster. The others are learned from it.
    package var servers: [String]
    /// The program's name, as the servers' monitoring shows it.
    package var name: String
    package var user: String?
    package var password: String?
    /// A file with a JWT and its seed, as `nsc` makes it.
    package var credentials: String?
    /// A user's public NKEY, and a file with its seed.
    package var nkey: (key: String, seedFile: String)? {
        get { nkeyUser.flatMap { user in seedFile.map { (user, $0) } } }
        set { (nkeyUser, seedFile) = (newValue?.key, newValue?.seedFile) }
    }
    private var nkeyUser: String?
    private var seedFile: String?
    /// Certificates in PEM that vouch for the servers; nil for those of the system. TLS is used if it is given, or a server's address
    /// begins with `tls://`.
    package var authorities: String?
    /// This program's own certificate and its key, in PEM.
    package var certificate: String?
    package var key: String?

    package init(servers: [String], name: String) {
        self.servers = servers
        self.name = name
    }

    /// Whether what is sent is encrypted.
    package var isEncrypted: Bool { authorities != nil || servers.allSatisfy { $0.hasPrefix("tls://") } }
}
