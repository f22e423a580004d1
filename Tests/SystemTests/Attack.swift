import Glibc
import PeerLimits
import Synchronization
import SystemPackage
import TestSupport

/// An attack of a hostile or broken peer on a socket, as named in `Clients/attack.py`.
struct Attack: Hashable, Sendable, CustomStringConvertible {
    /// How long one attack lasts.
    static let seconds = 0.4

    /// The socket type that the attacker announces.
    let kind: String
    let name: String

    var description: String { name }

    /// How much memory an attack may take in a requesting or listening program. Without keys, an empty frame takes 2 bytes on the
    /// wire and 64 in memory: only the bytes on the wire can be limited, and up to the size of the longest answer is let through.
    var maximumGrowth: Int {
        Victim.maximumGrowth + (name == "empty" ? PeerLimits().unfinishedBytes / 2 * 64 : 0)
    }

    init(_ name: String, as kind: String) {
        self.name = name
        self.kind = kind
    }

    /// Attacks that libzmq ends by itself; they run at the same time.
    private static let broken = ["random", "zmtp1", "http", "wrong-type", "declared", "4-GiB"]

    /// Attacks on a PUB socket.
    static let onPublishers =
        ["more", "long-more", "subscriptions", "messages", "pings", "silent", "held"].map { [Attack($0, as: "SUB")] }
        + [(broken + ["topic", "unread"]).map { Attack($0, as: "SUB") }]

    /// Attacks on a socket that answers requests.
    static let onRepliers =
        ["more", "long-more", "pings", "requests", "garbage-requests", "large-requests", "silent", "held"]
        .map { [Attack($0, as: "DEALER")] } + [(broken + ["identity"]).map { Attack($0, as: "REQ") }]

    /// Attacks of peers without keys on a socket that demands them.
    static let onLockedDoors = [
        [Attack("more", as: "SUB")], [Attack("silent", as: "SUB")], [Attack("half", as: "SUB")],
        broken.map { Attack($0, as: "SUB") },
    ]

    /// Attacks of a publisher on its subscribers.
    static let onSubscribers = [
        "long-more", "pings", "garbage", "large-garbage", "30-MB", "silent", "random", "zmtp1", "wrong-type",
        "4-GiB",
    ].map { Attack($0, as: "PUB") }

    /// Attacks on a program that sends requests.
    static let onRequesters = ["long-more", "replies", "large-replies", "pings", "silent", "random", "4-GiB"]
        .map { Attack($0, as: "ROUTER") }

    /// Attacks of a publisher on a program that requests samples, as named in `Clients/replay.py`.
    static let onAskers = [
        "mute", "refuse", "close", "garbage", "huge", "endless", "empty", "other-epoch", "numbers", "nothing", "drip",
        "trickle",
    ].map { Attack($0, as: "replay") }

    /// Attacks of clients with a key, and the reasons for which they are disconnected, as named in `Clients/attack_with_key.py`.
    static let withKeys: [(name: String, reason: String)] = [
        ("subscriptions", "tooManySubscriptions"), ("empty-frames", "unfinishedMessage"),
        ("long-frames", "unfinishedMessage"), ("large-requests", "unfinishedMessage"),
        ("unread-replies", "unreadReplies"),
    ]

    /// Whether the encryption library of `Clients/attack_with_key.py` is available: on Debian, it is installed with libzmq.
    static var hasSodium: Bool {
        guard let library = dlopen("libsodium.so.23", RTLD_LAZY) else { return false }
        dlclose(library)
        return true
    }

    /// Attacks an endpoint of a locked program, with a key, until the program has closed `cuts` connections or the time is over.
    /// - Returns: how often the attacker was disconnected.
    static func run(
        _ name: String, on endpoint: String, of server: String, in locked: Locked, cuts: Int, seconds: Int = 90
    ) async throws -> Int {
        guard let port = endpoint.split(separator: ":").last else { throw TestFailure("no port in \(endpoint)") }
        let script = FilePath(#filePath).removingLastComponent().appending("Clients/attack_with_key.py")
        let output = try await Tool.output(
            of: Tool.require("python3"),
            [
                script.string, "\(port)", locked.keys.appending("\(server).key").string,
                locked.keys.appending("mallory.key_secret").string, "\(seconds)", name, "\(cuts)",
            ])
        return output.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
    }

    private var script: String {
        let clients = FilePath(#filePath).removingLastComponent().appending("Clients")
        return clients.appending(kind == "replay" ? "replay.py" : "attack.py").string
    }

    /// Attacks a listening endpoint.
    /// - Returns: the attacker's account of what it did.
    func run(on endpoint: String, seconds: Double) async throws -> String {
        guard let port = endpoint.split(separator: ":").last else { throw TestFailure("no port in \(endpoint)") }
        return try await Tool.output(
            of: Tool.require("python3"), [script, "connect", "\(port)", "\(seconds)", kind, name])
    }

    /// Listens with a hostile socket as long as a closure runs.
    /// - Parameters:
    ///   - seconds: the duration of one attack.
    ///   - body: receives the endpoint, and a closure that starts an attack and waits for its end; it can be called any number of
    ///     times.
    static func listening(
        _ attack: Attack, seconds: Double,
        _ body: (String, @escaping @Sendable () async throws -> String) async throws -> Void
    ) async throws {
        try await ProgramUnderTest.run(
            executable: Tool.require("python3"),
            arguments: [attack.script, "listen", "\(seconds)", attack.kind, attack.name]
        ) { attacker in
            let port = try await attacker.line("the port") { Int($0) != nil }
            let times = Mutex(0)
            try await body("tcp://127.0.0.1:\(port)") {
                let time = times.withLock { times in
                    times += 1
                    return times
                }
                try attacker.send(.interrupt)
                return try await attacker.line("what it did") { $0.hasPrefix("\(time): ") }
            }
        }
    }
}
