import MessageBus
import Messages
import ServiceKit
import Synchronization
import SystemPackage
import TestSupport
import Testing
import ZeroMQ

/// Hostile and broken peers on the programs' sockets: the programs survive, use little memory, and serve honest peers.
/// docs/peer-limits.md lists limits and attacks.
@Suite(.enabled(if: Python.isInstalled, "there is no python3 on the PATH"), .timeLimit(.minutes(4)))
struct HostilePeerTests {
    /// The first publishes all the time. The second publishes little, and its PUB socket has no high-water mark.
    private static let listening = ["sensor-publisher", "step-counter"]

    @Test(arguments: Self.listening)
    func socketsThatListenEndure(program name: String) async throws {
        let start = ContinuousClock.now
        try await Victim.run(name, Victim.programs[name] ?? []) { victim in
            let listener = try await HonestSubscriber(to: victim)
            try await listener.whileListening(isHeard: name == "sensor-publisher") {
                for attacks in Attack.onPublishers {
                    try await victim.endure(
                        "\(name) PUB \(attacks)", newcomers: !attacks.contains { $0.name == "held" }
                    ) {
                        try await Self.run(attacks, on: victim.ready.publish)
                    }
                    listener.checkIsThere(after: "\(attacks)", of: victim)
                }
                for attacks in Attack.onRepliers {
                    try await victim.endure(
                        "\(name) REP \(attacks)", newcomers: !attacks.contains { $0.name == "held" }
                    ) {
                        try await Self.run(attacks, on: victim.ready.reply)
                    }
                    listener.checkIsThere(after: "\(attacks)", of: victim)
                }
            }
            // A subscriber that connects afterwards is served within a short time, since a busy machine may not have finished
            // handling the attacks.
            try await eventually("a new subscriber that is not cut", within: .seconds(20)) {
                try await HonestSubscriber(to: victim).isServed
            }
            for name in ["connectionsCut", "handshakesFailed", "requestsMalformed"] {
                let measures = try await victim.measures()
                #expect(measures[name] ?? 0 > 0)
            }
            let lines = victim.program.standardError.split(separator: "\n").count { $0.contains("connections ") }
            let reports = Int((ContinuousClock.now - start) / .seconds(10)) + 1
            #expect((1...17 * reports).contains(lines), "\(lines) lines in the log")
        }
    }

    /// The memory of closed connections is freed as fast as new ones arrive.
    @Test(.enabled(if: Attack.hasSodium, "there is no libsodium"), arguments: Self.listening)
    func aLongFloodOfSubscriptionsTakesNoMore(program name: String) async throws {
        try await withLocked(name) { victim, locked in
            try await victim.endure("\(name) subscriptions") {
                let cuts = try await Attack.run(
                    "subscriptions", on: victim.ready.publish, of: name, in: locked, cuts: 4)
                #expect(cuts == 4)
            }
        }
    }

    /// The peers have not shown a key. The log names their addresses.
    @Test func aLockedProgramEnduresStrangers() async throws {
        try await withLocked("recorder") { victim, locked in
            for endpoint in [victim.ready.publish, victim.ready.reply] {
                for attacks in Attack.onLockedDoors {
                    try await victim.endure("\(endpoint) \(attacks)") { try await Self.run(attacks, on: endpoint) }
                }
                let server = try KeyDirectory(locked.keys).publicKey(of: "recorder")
                try await victim.endure("\(endpoint) wrong keys") { try await Self.knock(at: endpoint, of: server) }
            }
            try await victim.program.complaint(containing: "reason=wrongMechanism")
            // A peer that left before its address was looked up is unknown; the next report has others.
            try await victim.program.complaint(containing: "bus.peer=127.0.0.1")
        }
    }

    /// Attackers whose key only allows listening.
    @Test(.enabled(if: Attack.hasSodium, "there is no libsodium"))
    func aLockedProgramEnduresClientsWithKeys() async throws {
        try await withLocked("sensor-publisher") { victim, locked in
            for (name, reason) in Attack.withKeys {
                let endpoint = reason == "tooManySubscriptions" ? victim.ready.publish : victim.ready.reply
                try await victim.endure("\(name) with a key") {
                    let cuts = try await Attack.run(name, on: endpoint, of: "sensor-publisher", in: locked, cuts: 1)
                    #expect(cuts == 1, "\(name)")
                }
            }
            for reason in Set(Attack.withKeys.map(\.reason)) {
                try await victim.program.complaint(containing: "reason=\(reason)")
            }
        }
    }

    private func withLocked(_ name: String, _ body: (Victim, Locked) async throws -> Void) async throws {
        try await Locked.run(["mallory": "listen"]) { locked in
            try await locked.start(name, Victim.programs[name] ?? []) { running in
                try await body(Victim(running.program, security: locked.security(of: name)), locked)
            }
        }
    }

    /// The attackers listen at the endpoint where the recorder expects log-manager.
    @Test func aRecorderEnduresAnswers() async throws {
        try await Attack.listening(Self.answers, seconds: 6) { endpoint, begin in
            try await Rig.run(
                publishing: Victim.programs["sensor-publisher"] ?? [], recording: ["--log-manager", endpoint]
            ) {
                rig in
                let victim = try await Victim(rig.recorder)
                let sessions = Mutex<[String]>([])
                try await victim.endure("recorder REQ") {
                    async let report = begin()
                    // Each session asks log-manager for its log's configuration, over a connection of its own.
                    for _ in 0..<20 {
                        let session = "s\(sessions.withLock(\.count))"
                        sessions.withLock { $0.append(session) }
                        try await rig.start(RecordingStart(session: session, streams: ["phone/"]))
                        try await Task.sleep(for: .milliseconds(100))
                    }
                    let done = try await report
                    #expect(!done.contains("over 0 connections"))
                }
                for session in sessions.withLock({ $0 }) {
                    let result = try await rig.stop(session)
                    #expect(result.report.isWhole)
                }
            }
        }
    }

    @Test func anArchiverEnduresAnswers() async throws {
        try await Attack.listening(Self.answers, seconds: 6) { endpoint, begin in
            try await Victim.run("archiver", ["--subscribe", Victim.nobody, "--log-manager", endpoint]) { victim in
                try await victim.endure("archiver REQ") {
                    let done = try await begin()
                    #expect(!done.contains("over 0 connections"))
                }
            }
        }
    }

    /// The attacks on requesting programs, in sequence.
    private static let answers = Attack(Attack.onRequesters.map(\.name).joined(separator: ","), as: "ROUTER")

    /// Runs attacks at the same time.
    private static func run(_ attacks: [Attack], on endpoint: String) async throws {
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            for attack in attacks {
                tasks.addTask { _ = try await attack.run(on: endpoint, seconds: Attack.seconds) }
            }
            try await tasks.waitForAll()
        }
    }

    /// Connects repeatedly with many peers that know the server's key but have unknown keys of their own.
    private static func knock(at endpoint: String, of server: CurveKey) async throws {
        let context = try Context()
        let thread = try SocketThread(name: "strangers")
        var strangers: [Subscriber] = []
        for _ in 0..<100 {
            var options = SocketOptions()
            options.security = .client(try .generate(), server: server)
            options.reconnectInterval = .milliseconds(1)
            let stranger = try Subscriber(context: context, thread: thread, options: options)
            try await stranger.connect(to: endpoint)
            strangers.append(stranger)
        }
        try await eventually("all were refused", within: .seconds(20)) {
            strangers.allSatisfy { $0.connectionEvents.failedHandshakes > 0 }
        }
        #expect(strangers.allSatisfy { $0.connectionEvents.handshakes == 0 })
    }
}
