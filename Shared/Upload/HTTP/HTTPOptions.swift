import SystemPackage

/// How web servers are reached.
struct HTTPOptions: Hashable, Sendable {
    /// The authorities whose certificates are trusted, in place of the system's: a file in PEM.
    var caCertificate: FilePath?
    /// A transfer in which nothing moved for so many seconds is ended. There is no bound on a whole transfer.
    var stallSeconds = 120
    /// A connection that is not made after so many seconds is given up.
    var connectSeconds = 30
}
