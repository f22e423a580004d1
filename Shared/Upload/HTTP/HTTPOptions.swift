import SystemPackage

/// Options for connections to web servers.
struct HTTPOptions: Hashable, Sendable {
    /// A PEM file with the trusted certificate authorities, instead of the system's.
    var caCertificate: FilePath?
    /// A transfer ends after this many seconds without progress. The total duration is unlimited.
    var stallSeconds = 120
    /// The timeout for establishing a connection.
    var connectSeconds = 30
}
