import Glibc
import PeerLimits
import Synchronization
import SystemPackage
import TestSupport

/// Something that a hostile or broken peer does to a socket: what `Clients/attack.py` calls it.
struct Attack: Hashable, Sendable, CustomStringConvertible {
    /// How long one continues.
    static let seconds = 0.4

    /// What the attacker's socket says that it is.
    let kind: String
    let name: String

    var description: String { name }

    /// How much memory it may take of who asks or listens. An empty frame without keys takes 2 bytes on the wire and 64 in memory:
    /// nothing but the bytes on the wire can be seen, and as many as the longest answer are let through.
    var maximumGrowth: Int {
        Victim.maximumGrowth + (name == "empty" ? PeerLimits().unfinishedBytes / 2 * 64 : 0)
    }

    init(_ name: String, as kind: String) {
        self.name = name
        self.kind = kind
    }

    /// What libzmq ends by itself, all at the same time.
    private static let broken = ["random", "zmtp1", "http", "wrong-type", "declared", "4-GiB"]

    /// What is done to a PUB socket.
    static let onPublishers =
        ["more", "long-more", "subscriptions", "messages", "pings", "silent", "held"].map { [Attack($0, as: "SUB")] }
        + [(broken + ["topic", "unread"]).map { Attack($0, as: "SUB") }]

    /// What is done to a socket that answers requests.
    static let onRepliers =
        ["more", "long-more", "pings", "requests", "garbage-requests", "large-requests", "silent", "held"]
        .map { [Attack($0, as: "DEALER")] } + [(broken + ["identity"]).map { Attack($0, as: "REQ") }]

    /// What those do to a socket with keys who have none.
    static let onLockedDoors = [
        [Attack("more", as: "SUB")], [Attack("silent", as: "SUB")], [Attack("half", as: "SUB")],
        broken.map { Attack($0, as: "SUB") },
    ]

    /// What a publisher does to who listens to it.
    static let onSubscribers = [
        "long-more", "pings", "garbage", "large-garbage", "30-MB", "silent", "random", "zmtp1", "wrong-type",
        "4-GiB",
    ].map { Attack($0, as: "PUB") }

    /// What is done to who asks.
    static let onRequesters = ["long-more", "replies", "large-replies", "pings", "silent", "random", "4-GiB"]
        .map { Attack($0, as: "ROUTER") }

    /// What a publisher does to who asks it for samples: what `Clients/replay.py` calls it.
    static let onAskers = [
        "mute", "refuse", "close", "garbage", "huge", "endless", "empty", "other-epoch", "numbers", "nothing", "drip",
        "trickle",
    ].map { Attack($0, as: "replay") }

    /// What clients with a key do, and why they are cut: what `Clients/attack_with_key.py` calls it.
    static let withKeys: [(name: String, reason: String)] = [
        ("subscriptions", "tooManySubscriptions"), ("empty-frames", "unfinishedMessage"),
        ("long-frames", "unfinishedMessage"), ("large-requests", "unfinishedMessage"),
        ("unread-replies", "unreadReplies"),
    ]

    /// Whether there is what `Clients/attack_with_key.py` encrypts with: libzmq brings it along on Debian.
    static var hasSodium: Bool {
        guard let library = dlopen("libsodium.so.23", RTLD_LAZY) else { return false }
        dlclose(library)
        return true
    }

    /// Attacks an endpoint of a locked program, with a key, until it was cut so often or the time is over.
    /// - Returns: how often it was cut.
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

    /// Does it to an endpoint that listens.
    /// - Returns: what the attacker says that it did.
    func run(on endpoint: String, seconds: Double) async throws -> String {
        guard let port = endpoint.split(separator: ":").last else { throw TestFailure("no port in \(endpoint)") }
        return try await Tool.output(
            of: Tool.require("python3"), [script, "connect", "\(port)", "\(seconds)", kind, name])
    }

    /// Listens with a hostile socket as long as a closure runs.
    /// - Parameters:
    ///   - seconds: how long it attacks.
    ///   - body: is given where it listens, and what lets it begin and waits for its end, any number of times.
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
