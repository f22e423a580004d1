import FoundationEssentials
import MessageBus
import Messages
import SystemPackage
import TestSupport
import Testing
import ZeroMQ

/// Sessions whose samples come through real NATS servers, while every program on the way is killed again and again.
@Suite(
    .timeLimit(.minutes(RelayKills.minutes)), .enabled(if: NATSServers.areInstalled, NATSServers.areMissing))
struct RelaySessionTests {
    /// Samples of each of two streams; a sample's value is its number.
    private static let samples = 1_000 + 100 * max(5, RelayKills.rounds)

    private static let rate = 100
    private static let limit = Duration.seconds(120)

    /// Everything from a sensor to a recorder.
    private struct Line: Sendable {
        let servers: NATSServers
        let publisher: RevivedProgram
        let sender: RevivedProgram
        let server: RevivedProgram
        let recorder: RevivedProgram
        /// Clients of the publisher, the serving relay and the recorder.
        let atSite: RequestClient
        let atCentre: RequestClient
        let recordings: RequestClient
        let directory: FilePath

        init(_ kind: NATSServers.Kind, servers count: Int, in directory: FilePath) throws {
            self.directory = directory
            servers = try NATSServers(kind, count: count, in: directory)
            var rows = "t,x\n"
            for sample in 0..<RelaySessionTests.samples {
                rows += "\(Double(sample) / Double(RelaySessionTests.rate)),\(sample)\n"
            }
            try rows.write(toFile: directory.appending("rows.csv").string, atomically: true, encoding: .utf8)
            let streams = #"""
                {"streams": [
                  {"device": "one", "stream": "value", "replay": "rows.csv"},
                  {"device": "two.1", "stream": "value", "replay": "rows.csv", "packed": true}
                ]}
                """#
            try streams.write(toFile: directory.appending("streams.json").string, atomically: true, encoding: .utf8)
            let ends = try FreePort.endpoints(8)
            func program(_ name: String, _ first: Int, _ arguments: [String]) throws -> RevivedProgram {
                try RevivedProgram(name, at: ends[first...(first + 1)], arguments, in: directory)
            }
            publisher = try program("sensor-publisher", 0, ["--config", "streams.json", "--start-stopped"])
            sender = try program(
                "relay", 2,
                servers.options("to") + [
                    "--subscribe", ends[0], "--data", "site", "--site", "lab", "--replicas", "\(count)",
                ])
            server = try program("relay", 4, servers.options("from") + ["--data", "centre"])
            recorder = try program("recorder", 6, ["--subscribe", ends[4], "--data", "centre"])
            let context = try Context()
            let thread = try SocketThread(name: "test")
            atSite = try RequestClient(context: context, thread: thread, endpoint: ends[1])
            atCentre = try RequestClient(context: context, thread: thread, endpoint: ends[5])
            recordings = try RequestClient(context: context, thread: thread, endpoint: ends[7])
        }

        /// Runs everything while a closure runs, with a session that has begun.
        func run(_ body: () async throws -> Void) async throws {
            try await RevivedProgram.run(servers.servers + [publisher, sender, server, recorder]) {
                try await eventually("the streams at the centre", within: RelaySessionTests.limit) {
                    try await atCentre.send(StreamsList(), timeout: .seconds(60)).streams.count == 2
                }
                let request = RecordingStart(session: "far", streams: ["*"])
                try await eventually("a session", within: RelaySessionTests.limit) {
                    (try? await recordings.send(request, timeout: .seconds(60)))?.status == "running"
                }
                for name in ["one/value", "two.1/value"] {
                    let stream = try #require(StreamName(name))
                    _ = try await atSite.send(StreamsStart(stream: stream), timeout: .seconds(60))
                }
                try await body()
            }
        }

        /// Waits until each stream of the session has at least this many samples.
        func recorded(_ samples: Int) async throws {
            var last: RecordingState?
            do {
                try await eventually("\(samples) samples", within: RelaySessionTests.limit) {
                    // A restarted recorder knows its session a moment later.
                    last = try? await recordings.send(RecordingStatus(session: "far"), timeout: .seconds(60))
                    let logs = last?.logs ?? []
                    return logs.count == 2 && logs.allSatisfy { $0.samples >= samples }
                }
            } catch let failure as TestFailure {
                throw TestFailure("\(failure), but \(String(describing: last))")
            }
        }

        /// Waits until the centre has at least this many samples of each stream.
        func served(_ samples: Int) async throws {
            try await eventually("\(samples) samples at the centre", within: RelaySessionTests.limit) {
                try await atCentre.send(StreamsList(), timeout: .seconds(60)).streams
                    .allSatisfy { $0.nextSequence >= samples }
            }
        }

        /// Waits until the session has all samples, ends it, and checks every sample.
        func finish() async throws {
            try await recorded(RelaySessionTests.samples)
            let result = try await recordings.send(RecordingStop(session: "far"), timeout: .seconds(60))
            #expect(result.report.streams.count == 2)
            for stream in result.report.streams { #expect(stream.gaps.isEmpty) }
            for log in result.logs {
                let values = try log.files.flatMap { try LogItem.read(FilePath(result.directory).appending($0)) }
                    .filter { $0.marker == nil }.compactMap(\.x)
                #expect(values == (0..<RelaySessionTests.samples).map(Double.init), "\(log.name)")
            }
            try await ProgramUnderTest.run("recorder", arguments: ["verify", result.directory], in: directory) {
                let end = try await $0.end()
                #expect(end == .exited(0), "\($0.standardOutput)")
            }
        }
    }

    @Test(arguments: NATSServers.Kind.allCases)
    func afterKillsOfEverythingEachSampleIsRecordedOnce(kind: NATSServers.Kind) async throws {
        try await withTemporaryDirectory { directory in
            let line = try Line(kind, servers: 1, in: directory)
            try await line.run {
                try await line.recorded(200)
                try await line.sender.kill()
                try await line.recorded(300)
                try await line.server.kill()
                try await line.recorded(400)
                try await line.servers.servers[0].kill()
                try await line.recorded(600)
                // While the recorder misses samples, the server hangs for longer than recorders wait for a silent publisher.
                try await line.recorder.hold()
                try await line.served(700)
                async let hang: Void = line.servers.servers[0].freeze(for: .seconds(12))
                try await line.recorder.release()
                try await hang
                // Samples wait on the disk while the server is away, even if the relay is killed meanwhile.
                try await line.servers.servers[0].hold()
                try await line.sender.kill()
                try await line.servers.servers[0].release()
                try await line.finish()
            }
        }
    }

    @Test func threeServersSurviveKillsOfOneAtATime() async throws {
        print("HOLDFAST_RELAY_SEED=\(RelayKills.seed)")
        try await withTemporaryDirectory { directory in
            let line = try Line(.current, servers: 3, in: directory)
            try await line.run {
                var random = SplitMix(seed: UInt64(RelayKills.seed))
                for round in 0..<RelayKills.rounds {
                    try await line.recorded(min(Self.samples, 100 * (round + 1)))
                    // A server every second time: one of the three leads the stream.
                    let victims =
                        round.isMultiple(of: 2) ? line.servers.servers : [line.sender, line.server, line.recorder]
                    try await victims[Int.random(in: 0..<3, using: &random)].kill()
                }
                // A majority is away, and a relay is killed meanwhile.
                try await line.servers.servers[0].hold()
                try await line.servers.servers[1].hold()
                try await line.sender.kill()
                try await line.servers.servers[0].release()
                try await line.servers.servers[1].release()
                try await line.finish()
            }
        }
    }
}
