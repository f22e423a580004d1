import MessageBus
import Messages
import SystemPackage
import TestSupport
import Testing
import ZeroMQ

/// Programs listen to hostile and broken publishers, and request samples from them: the honest publisher beside them is still
/// heard.
@Suite(.enabled(if: Python.isInstalled, "there is no python3 on the PATH"), .timeLimit(.minutes(4)))
struct HostilePublisherTests {
    @Test(arguments: [Attack.onSubscribers, Attack.onAskers])
    func aRecorderEnduresPublishers(doing attacks: [Attack]) async throws {
        try await withHostilePublishers(
            "recorder", ["--recovery-limit", "1s"], honest: Victim.programs["sensor-publisher"], attacks
        ) { victim, attack in
            let recordings = try RequestClient(
                context: victim.context, thread: victim.thread, endpoint: victim.ready.reply)
            _ = try await recordings.send(
                RecordingStart(session: "besieged", streams: ["phone/"]), timeout: .seconds(60))
            _ = try await recordings.send(RecordingStart(session: "haunted", streams: ["*"]), timeout: .seconds(60))
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
            // Although hostile publishers' streams are recorded too, the honest stream is whole, and the session ends.
            let haunted = try await recordings.send(RecordingStop(session: "haunted"), timeout: .seconds(60)).report
            let honest = try #require(haunted.streams.first { $0.stream.device == "phone" })
            #expect(honest.lost == 0)
            for stream in haunted.streams where stream.stream.device != "phone" { #expect(stream.lost > 0) }
        }
    }

    @Test(arguments: [Attack.onSubscribers, Attack.onAskers])
    func aStepCounterEnduresPublishers(doing attacks: [Attack]) async throws {
        let honest = (Victim.programs["sensor-publisher"] ?? []) + ["--unit", "g"]
        try await withHostilePublishers("step-counter", honest: honest, attacks) { victim, attack in
            try await attack { samples in
                let taken = try await eventualValue("samples of the honest publisher") {
                    let taken = Int(try await victim.measures()["samplesTaken"] ?? 0)
                    return taken > samples ? taken : nil
                }
                return taken
            }
            // The lost samples of hostile publishers are reported as lost, and no others.
            let losses = victim.program.standardError.split(separator: "\n").filter { $0.contains("samples lost") }
            #expect(losses.isEmpty == (attacks == Attack.onSubscribers))
            #expect(losses.allSatisfy { $0.contains("evil-") && !$0.contains("phone") }, "\(losses)")
        }
    }

    @Test(arguments: ["log-manager", "archiver"])
    func whoListensToRecordersEnduresThem(program name: String) async throws {
        let context = try Context()
        let (recorder, endpoint) = try EventPublisher.listening(
            on: "tcp://127.0.0.1:*", context: context, thread: SocketThread(name: "recorder"))
        try await withHostilePublishers(name, at: endpoint, Attack.onSubscribers) { victim, attack in
            try await attack { round in
                // The program reports a malformed event: so it received the event.
                let before = try await victim.measures()["messagesMalformed"] ?? 0
                try await eventually("an event of the honest recorder") {
                    var message = MessageBatch()
                    message.append(
                        topic: Array("recording/x".utf8), body: ByteBuffer(capacity: 1), packed: nil, at: .now)
                    try recorder.publish(message)
                    return try await victim.measures()["messagesMalformed"] ?? 0 > before
                }
                return round + 1
            }
        }
    }

    /// Runs a program that listens to an honest publisher and to hostile ones.
    /// - Parameters:
    ///   - options: the program's further options.
    ///   - honest: the options of the honest publisher to start, if any.
    ///   - endpoint: the honest publisher's endpoint otherwise.
    ///   - attacks: one per hostile publisher.
    ///   - body: receives the program and a closure that runs the attacks in sequence. After each attack, the closure calls its
    ///     argument with the honest publisher's earlier progress, until the progress has grown.
    private func withHostilePublishers(
        _ name: String, _ options: [String] = [], honest: [String]? = nil, at endpoint: String = "",
        _ attacks: [Attack],
        _ body: @Sendable (Victim, (@Sendable (Int) async throws -> Int) async throws -> Void) async throws -> Void
    ) async throws {
        guard let honest else { return try await withListeners(attacks, []) { try await run($0) } }
        try await ProgramUnderTest.run("sensor-publisher", arguments: ProgramUnderTest.anyPorts + honest) { publisher in
            let ready = try await publisher.ready()
            try await withListeners(attacks, []) { try await run($0, ready.publish) }
        }

        func run(_ listeners: [Listener], _ honest: String? = nil) async throws {
            let endpoints = [honest ?? endpoint] + listeners.map(\.endpoint)
            // Samples that a hostile publisher does not replay are lost.
            let code: Int32 = attacks == Attack.onAskers ? 3 : 0
            try await Victim.run(name, options + endpoints.flatMap { ["--subscribe", $0] }, exiting: code) { victim in
                try await body(victim) { progress in
                    var count = try await progress(0)
                    for listener in listeners {
                        try await victim.endure(
                            "\(name) SUB \(listener.attack)", growth: listener.attack.maximumGrowth
                        ) {
                            // On a busy machine the program may send its request late.
                            try await eventually("\(listener.attack) to be asked", within: .seconds(60)) {
                                try await !listener.begin().contains("asked 0 times")
                            }
                        }
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
        try await Attack.listening(attack, seconds: Attack.seconds) { endpoint, begin in
            try await withListeners(
                Array(attacks.dropFirst()), listeners + [Listener(attack: attack, endpoint: endpoint, begin: begin)],
                body)
        }
    }
}
