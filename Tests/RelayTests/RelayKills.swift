import FoundationEssentials

/// How much is killed: HOLDFAST_RELAY_ROUNDS=200 kills more, HOLDFAST_RELAY_SEED repeats a run's choices.
enum RelayKills {
    static let rounds = setting("ROUNDS") ?? 4
    static let seed = setting("SEED") ?? Int.random(in: 0 ... .max)
    static let minutes = rounds > 20 ? 120 : 8

    private static func setting(_ name: String) -> Int? {
        ProcessInfo.processInfo.environment["HOLDFAST_RELAY_\(name)"].flatMap { Int($0) }
    }
}
