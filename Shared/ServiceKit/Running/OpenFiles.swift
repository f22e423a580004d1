import Glibc

/// The limit of open file descriptors: each connection takes one, and so does each stream file.
enum OpenFiles {
    /// Enough for every connection that `PeerLimits` allows, and every stream file.
    private static let enough: rlim_t = 1 << 16

    /// Raises the limit as far as the system allows. Shells and container engines often start with 1,024.
    static func raiseLimit() {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0, limit.rlim_cur < enough else {
            return
        }
        limit.rlim_cur = min(enough, limit.rlim_max)
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }
}
