import Glibc

/// How many files a process may have open: each connection is one, and so is each log.
enum OpenFiles {
    /// Enough for every connection that `PeerLimits` lets through, and every log.
    private static let enough: rlim_t = 1 << 16

    /// Takes as many as the system lets us have. Shells and container engines often begin with 1,024.
    static func raiseLimit() {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0, limit.rlim_cur < enough else {
            return
        }
        limit.rlim_cur = min(enough, limit.rlim_max)
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }
}
