import FoundationEssentials

/// How much is killed: HOLDFAST_RELAY_ROUNDS=200 kills more, HOLDFAST_RELAY_SEED repeats a run's choices, HOLDFAST_RELAY_STREAMS
/// is the number of streams at each of the two sites, HOLDFAST_RELAY_SERVERS=nats-server-debian uses Debian's servers for the two
/// sites.
enum RelayKills {
    static let rounds = setting("ROUNDS") ?? 4
    /// Streams of each site.
    static let streams = setting("STREAMS") ?? 100
    /// Seconds for which samples wait for servers.
    static let backlog = setting("BACKLOG")
    static let servers =
        ProcessInfo.processInfo.environment["HOLDFAST_RELAY_SERVERS"].flatMap(NATSServers.Kind.init) ?? .current
    static let seed = setting("SEED") ?? Int.random(in: 0 ... .max)
    static let minutes = rounds > 20 ? 120 : 8

    private static func setting(_ name: String) -> Int? {
        ProcessInfo.processInfo.environment["HOLDFAST_RELAY_\(name)"].flatMap { Int($0) }
    }
}
