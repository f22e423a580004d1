import FoundationEssentials
import MessageBus
import Messages
import Recording
import RelayCore
import SystemPackage
import TestSupport
import Testing
import ZeroMQ

@testable import NATS

/// Two machines with a recorder each, only one of which records; with the real programs and a real NATS server.
@Suite(.timeLimit(.minutes(30)), .enabled(if: NATSServers.areInstalled, NATSServers.areMissing))
struct FailOverTests {
    private static let patience = "5s"
    /// HOLDFAST_FAIL_OVERS=50 kills more often, with users' default times.
    private static let kills = ProcessInfo.processInfo.environment["HOLDFAST_FAIL_OVERS"].flatMap { Int($0) }
    private static let noise = ["--signal", "noise:seed=1", "--rate", "200", "--device", "phone", "--retention", "1h"]

    /// Everything that the tests here need.
    private struct Study: Sendable {
        let one: Machine
        let two: Machine
        let servers: NATSServers
        let publisher: ProgramReady
        let patience: String
        let connection: NATSConnection

        /// The lease on the servers.
        func lease() throws -> LeaseValue? {
            let bytes = try KeyValue(connection, bucket: "holdfast-leases").entry("study", limit: 5_000)?.value
            return try bytes.map { try WireCoding.decode(LeaseValue.self, from: $0) }
        }

        func lead<Result: Sendable>(
            _ machine: Machine, options: [String] = [], _ body: (ProgramUnderTest) async throws -> Result
        ) async throws -> Result {
            try await machine.lead(
                servers: servers.addresses, patience: patience, subscribe: publisher.publish, options: options, body)
        }
    }

    private static func run(
        patience: String = patience, _ body: @Sendable (Study) async throws -> Void
    ) async throws {
        try await withTemporaryDirectory { directory in
            let context = try Context()
            let thread = try SocketThread(name: "test")
            let servers = try NATSServers(.current, count: 1, in: directory)
            try await RevivedProgram.run(servers.servers) {
                try await ProgramUnderTest.run(
                    "sensor-publisher", arguments: ProgramUnderTest.anyPorts + noise, in: directory
                ) { publisher in
                    let study = Study(
                        one: try Machine("one", in: directory, context: context, thread: thread),
                        two: try Machine("two", in: directory, context: context, thread: thread), servers: servers,
                        publisher: try await publisher.ready(), patience: patience,
                        connection: try NATSConnection(NATSSettings(servers: servers.addresses, name: "test")))
                    try await body(study)
                }
            }
        }
    }

    /// Checks a finished session: complete, each sample once, from its start.
    private static func check(_ result: RecordingResult, steps: [String]) throws {
        #expect(result.report.isWhole, "\(result.report)")
        let log = try #require(result.logs.first)
        let samples = try log.files.flatMap { try LogItem.read(FilePath(result.directory).appending($0)) }
            .filter { $0.marker == nil }
        let first = try #require(samples.first)
        #expect((-20...0.5).contains(first.timestamp), "from the session's start on")
        let pieces = zip(samples, samples.dropFirst()).map { ($1.uptime - $0.uptime) * 200 }
        #expect(pieces.allSatisfy { abs($0 - 1) < 1e-3 }, "each once, in order")
        let met = samples.reduce(into: [String]()) { if $0.last != $1.stepPath { $0.append($1.stepPath) } }
        #expect(met == steps)
    }

    /// Kills the recording machine repeatedly, each time after another one waits to take over; then ends the session.
    /// - Parameter times: how long each take-over took.
    private static func kill(
        _ left: Int, _ holder: (machine: Machine, program: ProgramUnderTest), then other: Machine, in study: Study,
        times: [Duration] = []
    ) async throws {
        try await study.lead(other) { waiting in
            let step = "step-\(left)"
            _ = try await holder.machine.client.send(
                RecordingMoveTo(session: "walk", step: step), timeout: .seconds(60))
            // From then on the next recorder knows the step.
            try await eventually("the step in the lease") {
                try study.lease()?.sessions.first?.start.changes?.last?.step == step
            }
            let recorder = try #require(holder.machine.recorderProcess(of: holder.program))
            try await waiting.complaint(containing: "waits for the lease")
            let start = ContinuousClock.now
            try holder.program.send(.kill)
            #expect(try await holder.program.end() == .killed(by: 9))
            try await waiting.complaint(containing: "started the recorder")
            #expect(!Machine.exists(recorder), "the recorder of a dead machine ends before another one starts")
            try await waiting.complaint(containing: "the session is continued")
            let times = times + [.now - start]
            if left > 1 {
                return try await kill(left - 1, (other, waiting), then: holder.machine, in: study, times: times)
            }
            try await finish(other, after: times)
            try waiting.send(.terminate)
            #expect(try await waiting.end() == .exited(0))
        }
    }

    private static func finish(_ machine: Machine, after times: [Duration]) async throws {
        let sorted = times.sorted()
        print("take-over, \(times.count) kills: median \(sorted[times.count / 2]), longest \(sorted[times.count - 1])")
        let result = try await machine.client.send(RecordingStop(session: "walk"), timeout: .seconds(60))
        try check(result, steps: ["Walk/out"] + (1...times.count).reversed().map { "Walk/step-\($0)" })
        try await ProgramUnderTest.run("recorder", arguments: ["verify", result.directory]) {
            let end = try await $0.end()
            #expect(end == .exited(0), "\($0.standardOutput)")
        }
    }

    private static func kill(_ count: Int, patience: String) async throws {
        try await run(patience: patience) { study in
            try await study.lead(study.one) { holder in
                try await holder.complaint(containing: "started the recorder")
                _ = try await study.one.client.send(
                    RecordingStart(session: "walk", task: "Walk", step: "out", streams: ["*"]), timeout: .seconds(60))
                try await kill(count, (study.one, holder), then: study.two, in: study)
            }
            // Each machine's older parts are kept.
            let kept = study.one.data.appending("taken-over").string
            if count > 1 { #expect(try !FileManager.default.contentsOfDirectory(atPath: kept).isEmpty) }
        }
    }

    @Test func theSessionOfADeadMachineIsWholeOnTheOther() async throws {
        try await Self.kill(3, patience: Self.patience)
    }

    @Test(.enabled(if: kills != nil, "HOLDFAST_FAIL_OVERS=50 kills so often"))
    func aSessionSurvivesManyDeadMachines() async throws { try await Self.kill(Self.kills ?? 1, patience: "6s") }

    @Test func machinesSayWhoLeads() async throws {
        try await Self.run { study in
            try await study.lead(study.one) { holder in
                try await holder.complaint(containing: "started the recorder")
                try await study.lead(study.two) { waiting in
                    try await waiting.complaint(containing: "waits for the lease")
                    for (machine, leading) in [(study.one, 1.0), (study.two, 0.0)] {
                        // Measured once a second.
                        let measures = try await eventualValue("\(machine.name) to know the lease") {
                            let reply = try await machine.lead.send(ServiceHealth(), timeout: .seconds(20))
                            // A recorder runs a moment after it was started.
                            let isKnown = reply.measures?["leaseTerm"] == 1
                            return isKnown && reply.measures?["recorderRunning"] == leading ? reply.measures : nil
                        }
                        #expect(measures["leading"] == leading)
                        #expect(measures["leasesTaken"] == leading && measures["leasesLost"] == 0)
                        #expect(measures["leaseAge"] ?? .infinity < 5)
                        let page = try await machine.metrics()
                        #expect(page.contains("holdfast_relay_leading{lease=\"study\"} \(Int(leading))\n"))
                        try Self.expectAsDocumented(page)
                    }
                    // The holder gives the lease away, and the new holder reports it.
                    try holder.send(.terminate)
                    #expect(try await holder.end() == .exited(0))
                    try await eventually("the other one leads") {
                        let health = try await study.two.lead.send(ServiceHealth(), timeout: .seconds(20))
                        return health.measures?["leading"] == 1 && health.measures?["leaseTerm"] == 2
                    }
                }
            }
        }
    }

    /// Every metric family about leases is in docs/metrics.md, with the same help text.
    private static func expectAsDocumented(_ page: String) throws {
        let root = FilePath(#filePath).removingLastComponent().appending("../..")
        let documents = try String(contentsOfFile: root.appending("docs/metrics.md").string, encoding: .utf8)
        let families = page.split(whereSeparator: \.isNewline).compactMap {
            line -> (name: Substring, help: Substring)? in
            let words = line.split(separator: " ", maxSplits: 3)
            return words.count == 4 && words[1] == "HELP" && words[2].hasPrefix("holdfast_relay_")
                ? (words[2], words[3]) : nil
        }
        #expect(families.count == 8)
        for family in families {
            let rows = documents.split(separator: "\n").filter { $0.hasPrefix("| `\(family.name)` |") }
            #expect(rows.count == 1 && rows[0].hasSuffix("| \(family.help) |"), "\(family.name)")
        }
    }

    @Test func aLeaseWhoseBucketIsDeletedIsWrittenAgain() async throws {
        try await Self.run { study in
            try await study.lead(study.one) { holder in
                try await holder.complaint(containing: "started the recorder")
                let recorder = try await eventualValue("the recorder") { study.one.recorderProcess(of: holder) }
                _ = try study.connection.request(
                    "$JS.API.STREAM.DELETE.KV_holdfast-leases", "", limit: NATSConnection.requestLimit)
                try await holder.complaint(containing: "writes it again")
                try await eventually("the lease in a new bucket") { (try? study.lease())?.term == 1 }
                #expect(study.one.recorderProcess(of: holder) == recorder, "nothing was interrupted")
            }
        }
    }

    /// It has other devices than the session that is to be continued.
    @Test func aSessionOfAnotherShardIsNotTakenForTheContinuedOne() async throws {
        try await Self.run { study in
            let record = SessionRecord(
                session: try SessionIdentifier("walk"), task: "Walk", step: "out", streams: ["*"], format: .json,
                root: .array, status: .running, startDate: WallTime.now, shard: Shard(rawValue: "2/2"))
            try FileManager.default.createDirectory(
                atPath: study.one.data.string, withIntermediateDirectories: true)
            _ = try SessionDirectory.create(record, in: study.one.data)
            // The lease of a dead machine's recorder of the first shard.
            let start = RecordingStart(
                session: "walk", task: "Walk", step: "out", streams: ["*"], from: WallTime.now)
            let lease = LeaseValue(
                holder: "dead", instance: "dead", term: 1, renewal: 1, isReleased: true,
                sessions: [SessionPlan(start: start)])
            let leases = KeyValue(study.connection, bucket: "holdfast-leases")
            try await eventually("a bucket") { (try? leases.create(replicas: 1, maximumValue: 900_000)) != nil }
            _ = try leases.write(try WireCoding.encode(lease), to: "study", replacing: nil, limit: 5_000)
            try await study.lead(study.one, options: ["--shard", "1/2"]) { holder in
                try await holder.complaint(containing: "another shard")
                #expect(try study.lease()?.sessions.map(\.session) == ["walk"])
            }
        }
    }

    @Test func aProgramThatHangsLosesItsRecorder() async throws {
        try await Self.run { study in
            try await study.lead(study.one) { holder in
                try await holder.complaint(containing: "started the recorder")
                let recorder = try await eventualValue("the recorder") { study.one.recorderProcess(of: holder) }
                // The program is frozen, but its recorder is not.
                try holder.send(.stop)
                try await eventually("the guard to end the recorder") { !Machine.exists(recorder) }
                try await study.lead(study.two) { other in
                    try await other.complaint(containing: "started the recorder")
                    try holder.send(.resume)
                    try await holder.complaint(containing: "lost the lease")
                }
            }
        }
    }
}
