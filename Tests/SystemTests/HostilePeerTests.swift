import MessageBus
import Messages
import SystemPackage
import TestSupport
import Testing
import ZeroMQ

/// Hostile and broken peers on every socket of every program: it lives, takes little memory, and serves honest peers,
/// meanwhile and within two seconds as before.
@Suite(.enabled(if: Python.isThere, "there is no python3 on the PATH"), .timeLimit(.minutes(4)))
struct HostilePeerTests {
    private static let seconds = 0.8
    private static let nobody = "tcp://127.0.0.1:9"

    /// What a program is started with besides its ports.
    private static let programs: [String: [String]] = [
        "sensor-publisher": ["--signal", "sine", "--rate", "100", "--batch", "1", "--device", "phone"],
        "recorder": ["--subscribe", nobody], "step-counter": ["--subscribe", nobody],
        "log-manager": ["--subscribe", nobody], "archiver": ["--subscribe", nobody, "--log-manager", nobody],
    ]

    @Test(arguments: programs.keys.sorted())
    func socketsThatListenEndure(program name: String) async throws {
        try await withVictim(name, Self.programs[name] ?? []) { victim in
            let listener = try await HonestSubscriber(to: victim)
            try await listener.whileListening(isHeard: name == "sensor-publisher") {
                for attacks in Attack.onPublishers {
                    try await victim.endure(
                        "\(name) PUB \(attacks)", newcomers: !attacks.contains { $0.name == "held" }
                    ) {
                        try await Self.run(attacks, on: victim.ready.publish)
                    }
                    try await listener.checkIsThere()
                }
                for attacks in Attack.onRepliers {
                    try await victim.endure(
                        "\(name) REP \(attacks)", newcomers: !attacks.contains { $0.name == "held" }
                    ) {
                        try await Self.run(attacks, on: victim.ready.reply)
                    }
                    try await listener.checkIsThere()
                }
            }
            // Whoever listens anew is served.
            let late = try await HonestSubscriber(to: victim)
            try await late.checkIsThere()
            let measures = try await victim.measures()
            #expect(measures["connectionsCut"] ?? 0 > 100)
            #expect(measures["handshakesFailed"] ?? 0 > 100)
            #expect(measures["requestsMalformed"] ?? 0 > 100)
            let lines = victim.program.standardError.split(separator: "\n").count { $0.contains("connections ") }
            #expect((1...200).contains(lines), "\(lines) lines in the log")
        }
    }

    @Test func aRecorderEnduresPublishers() async throws {
        try await withHostilePublishers("recorder", honest: Self.programs["sensor-publisher"]) { victim, attack in
            let recordings = try RequestClient(
                context: victim.context, thread: victim.thread, endpoint: victim.ready.reply)
            _ = try await recordings.send(
                RecordingStart(session: "besieged", streams: ["phone/"]), timeout: .seconds(60))
            try await attack { samples in
                try await eventually("samples of the honest publisher") {
                    let state = try await recordings.send(RecordingStatus(session: "besieged"), timeout: .seconds(60))
                    return state.logs.reduce(0) { $0 + $1.samples } > samples
                }
                let state = try await recordings.send(RecordingStatus(session: "besieged"), timeout: .seconds(60))
                return state.logs.reduce(0) { $0 + $1.samples }
            }
            let result = try await recordings.send(RecordingStop(session: "besieged"), timeout: .seconds(60))
            #expect(result.report.isWhole)
            #expect(result.report.streams.map(\.lost) == [0])
        }
    }

    @Test func aStepCounterEnduresPublishers() async throws {
        let honest = (Self.programs["sensor-publisher"] ?? []) + ["--unit", "g"]
        try await withHostilePublishers("step-counter", honest: honest) { victim, attack in
            try await attack { samples in
                let taken = try await eventualValue("samples of the honest publisher") {
                    let taken = Int(try await victim.measures()["samplesTaken"] ?? 0)
                    return taken > samples ? taken : nil
                }
                return taken
            }
            let measures = try await victim.measures()
            #expect(measures["samplesLost"] == 0)
        }
    }

    @Test(arguments: ["log-manager", "archiver"])
    func whoListensToRecordersEnduresThem(program name: String) async throws {
        let context = try Context()
        let (recorder, endpoint) = try EventPublisher.listening(
            on: "tcp://127.0.0.1:*", context: context, thread: SocketThread(name: "recorder"))
        try await withHostilePublishers(name, at: endpoint) { victim, attack in
            try await attack { round in
                // What it says of an event is that it can't be read: so it was heard.
                let before = try await victim.measures()["messagesMalformed"] ?? 0
                try await eventually("an event of the honest recorder") {
                    try recorder.publish(
                        topic: Array("recording/x".utf8), body: ByteBuffer(capacity: 1), packed: nil, at: .now)
                    return try await victim.measures()["messagesMalformed"] ?? 0 > before
                }
                return round + 1
            }
        }
    }

    /// Attackers that listen where a program asks: log-manager's place.
    @Test func aRecorderEnduresAnswers() async throws {
        try await Attack.listening(Self.answers, seconds: 6) { endpoint, begin in
            try await Rig.run(
                publishing: Self.programs["sensor-publisher"] ?? [], recording: ["--log-manager", endpoint]
            ) {
                rig in
                let victim = try await Victim(rig.recorder, context: rig.context, thread: rig.thread)
                try await victim.endure("recorder REQ") {
                    async let report = begin()
                    // Each asks how its log is to be written, over a connection of its own.
                    for number in 0..<20 {
                        try await rig.start(RecordingStart(session: "s\(number)", streams: ["phone/"]))
                        try await Task.sleep(for: .milliseconds(100))
                    }
                    let done = try await report
                    #expect(!done.contains("over 0 connections"))
                }
                for number in 0..<20 {
                    let result = try await rig.stop("s\(number)")
                    #expect(result.report.isWhole)
                }
            }
        }
    }

    @Test func anArchiverEnduresAnswers() async throws {
        try await Attack.listening(Self.answers, seconds: 6) { endpoint, begin in
            try await withVictim("archiver", ["--subscribe", Self.nobody, "--log-manager", endpoint]) { victim in
                try await victim.endure("archiver REQ") {
                    let done = try await begin()
                    #expect(!done.contains("over 0 connections"))
                }
            }
        }
    }

    /// What is done to who asks, one after the other.
    private static let answers = Attack(Attack.onRequesters.map(\.name).joined(separator: ","), as: "ROUTER")

    /// Runs attacks at the same time.
    private static func run(_ attacks: [Attack], on endpoint: String) async throws {
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            for attack in attacks {
                tasks.addTask { _ = try await attack.run(on: endpoint, seconds: seconds) }
            }
            try await tasks.waitForAll()
        }
    }

    private func withVictim(
        _ name: String, _ options: [String], _ body: @Sendable (Victim) async throws -> Void
    ) async throws {
        try await withTemporaryDirectory { directory in
            try await ProgramUnderTest.run(
                name, arguments: ["--data", directory.string] + ProgramUnderTest.anyPorts + options, in: directory
            ) { program in
                try await body(
                    Victim(program, context: Context(), thread: SocketThread(name: "honest")))
                try program.send(.terminate)
                let end = try await program.end()
                #expect(end == .exited(0))
            }
        }
    }

    /// A program that listens to an honest publisher and to hostile ones.
    /// - Parameters:
    ///   - honest: what the honest publisher is started with…
    ///   - endpoint: …or where it is.
    ///   - body: is given the program and what attacks it, one after the other. That asks after each attack what the
    ///     honest publisher brought, given what it was before, and comes back when it is more.
    private func withHostilePublishers(
        _ name: String, honest: [String]? = nil, at endpoint: String = "",
        _ body: @Sendable (Victim, (@Sendable (Int) async throws -> Int) async throws -> Void) async throws -> Void
    ) async throws {
        guard let honest else { return try await withListeners(Attack.onSubscribers, []) { try await run($0) } }
        try await ProgramUnderTest.run("sensor-publisher", arguments: ProgramUnderTest.anyPorts + honest) { publisher in
            let ready = try await publisher.ready()
            try await withListeners(Attack.onSubscribers, []) { try await run($0, ready.publish) }
        }

        func run(_ listeners: [Listener], _ honest: String? = nil) async throws {
            let endpoints = [honest ?? endpoint] + listeners.map(\.endpoint)
            try await withVictim(name, endpoints.flatMap { ["--subscribe", $0] }) { victim in
                try await body(victim) { progress in
                    var count = try await progress(0)
                    for listener in listeners {
                        try await victim.endure("\(name) SUB \(listener.attack)") { _ = try await listener.begin() }
                        count = try await progress(count)
                    }
                }
            }
        }
    }

    private struct Listener: Sendable {
        let attack: Attack
        let endpoint: String
        let begin: @Sendable () async throws -> String
    }

    private func withListeners(
        _ attacks: [Attack], _ listeners: [Listener], _ body: ([Listener]) async throws -> Void
    ) async throws {
        guard let attack = attacks.first else { return try await body(listeners) }
        try await Attack.listening(attack, seconds: Self.seconds) { endpoint, begin in
            try await withListeners(
                Array(attacks.dropFirst()), listeners + [Listener(attack: attack, endpoint: endpoint, begin: begin)],
                body)
        }
    }
}
