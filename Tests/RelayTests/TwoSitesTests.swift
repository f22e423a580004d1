import FoundationEssentials
import MessageBus
import Messages
import SystemPackage
import TestSupport
import Testing

/// Two sites with many streams, three servers and a centre that records, each on its own host in a test network. Programs are
/// killed and frozen many times, hosts are disconnected, and a server loses its disk.
@Suite(
    .serialized, .timeLimit(.minutes(RelayKills.minutes)),
    .enabled(if: NATSServers.areInstalled, NATSServers.areMissing),
    .enabled(if: RelayKills.rounds >= 20, "HOLDFAST_RELAY_ROUNDS=200 kills so often"),
    .enabled(Comment(rawValue: Network.need)) { await Network.isPossible() })
struct TwoSitesTests {
    private static let limit = Duration.seconds(180)
    /// Longer than any connection's timeout.
    private static let cutOff = Duration.seconds(30)
    /// Parts of a run; each except the last ends with something worse than a kill.
    private static let parts = 12

    /// Publishers, and the relay that sends their samples.
    private struct Site: Sendable {
        let devices: [String]
        let publisher: RevivedProgram
        let sender: RevivedProgram
        /// Sends requests to the publisher.
        let requests: RequestClient
    }

    private struct Study: Sendable {
        /// The index of the first site's host; the servers' hosts come before it.
        static let firstSite = 4
        static let centre = 6
        /// For relays: the servers are on other hosts, and have no TLS.
        private static let withoutTLS = ["--insecure"]

        let network: Network
        let directory: FilePath
        let servers: NATSServers
        let sites: [Site]
        let server: RevivedProgram
        let recorder: RevivedProgram
        let atCentre: RequestClient
        let recordings: RequestClient

        init(on network: Network, in directory: FilePath) throws {
            self.network = network
            self.directory = directory
            let servers = try NATSServers(RelayKills.servers, count: 3, on: network, in: directory)
            self.servers = servers
            // An hour of samples, so that nothing ends by itself; a sample's value is its number.
            let rate = 20
            let rows = (0..<3_600 * rate).map { "\(Double($0) / Double(rate)),\($0)" }
            try ("t,x\n" + rows.joined(separator: "\n") + "\n")
                .write(toFile: directory.appending("rows.csv").string, atomically: true, encoding: .utf8)
            func program(
                _ program: String, as name: String, on host: Int, _ arguments: [String]
            ) throws -> RevivedProgram {
                try RevivedProgram(program, as: name, on: host, of: network, arguments, in: directory)
            }
            func events(of name: String) -> [String] { ["--subscribe", Network.publishing(name, in: directory)] }
            sites = try ["north", "south"].enumerated().map { index, name in
                let devices = (0..<RelayKills.streams).map { "\(name)-\($0)" }
                let streams = devices.map {
                    #"{"device": "\#($0)", "stream": "value", "replay": "rows.csv", "batch": 10}"#
                }
                try #"{"streams": [\#(streams.joined(separator: ",\n"))]}"#
                    .write(toFile: directory.appending("\(name).json").string, atomically: true, encoding: .utf8)
                let host = Self.firstSite + index
                return Site(
                    devices: devices,
                    publisher: try program("sensor-publisher", as: name, on: host, ["--config", "\(name).json"]),
                    sender: try program(
                        "relay", as: "\(name)-relay", on: host,
                        servers.options("to") + Self.withoutTLS + events(of: name) + [
                            "--data", name, "--site", name, "--replicas", "3",
                        ]),
                    requests: try Network.client(of: name, in: directory))
            }
            server = try program(
                "relay", as: "from", on: Self.centre, servers.options("from") + Self.withoutTLS + ["--data", "centre"])
            recorder = try program(
                "recorder", as: "recorder", on: Self.centre, events(of: "from") + ["--data", "centre"])
            atCentre = try Network.client(of: "from", in: directory)
            recordings = try Network.client(of: "recorder", in: directory)
        }

        var programs: [RevivedProgram] {
            servers.servers + sites.flatMap { [$0.publisher, $0.sender] } + [server, recorder]
        }

        var streams: Int { sites.reduce(0) { $0 + $1.devices.count } }

        func begin() async throws {
            try await eventually("the streams at the centre", within: TwoSitesTests.limit) {
                try await atCentre.send(StreamsList(), timeout: .seconds(60)).streams.count == streams
            }
            let request = RecordingStart(session: "far", streams: ["*"])
            try await eventually("a session", within: TwoSitesTests.limit) {
                (try? await recordings.send(request, timeout: .seconds(60)))?.status == "running"
            }
        }

        /// The number of samples of each of the session's streams; nil while the recorder does not answer.
        func counts() async -> [String: Int]? {
            guard let state = try? await recordings.send(RecordingStatus(session: "far"), timeout: .seconds(60)),
                state.logs.count == streams
            else { return nil }
            return Dictionary(uniqueKeysWithValues: state.logs.map { ($0.name, $0.samples) })
        }

        /// Waits until each stream has received samples.
        func progress() async throws {
            var before: [String: Int]?
            try await eventually("samples of each stream", within: TwoSitesTests.limit) {
                guard let counts = await counts() else { return false }
                guard let before else {
                    before = counts
                    return false
                }
                return counts.allSatisfy { $0.value > before[$0.key] ?? .max }
            }
        }

        /// Ends all streams, waits until the centre has heard of it, and ends the session.
        /// - Returns: the number of samples in each device's last epoch, and the session.
        func end() async throws -> ([String: Int], RecordingResult) {
            var ends: [String: Int] = [:]
            for site in sites {
                for device in site.devices {
                    let stream = try #require(StreamName("\(device)/value"))
                    ends[device] = try await site.requests.send(StreamsStop(stream: stream), timeout: .seconds(60))
                        .nextSequence
                }
            }
            try await eventually("the ends of all streams at the centre", within: TwoSitesTests.limit) {
                try await atCentre.send(StreamsList(), timeout: .seconds(60)).streams
                    .allSatisfy { $0.state == .stopped && $0.nextSequence == ends[$0.device] }
            }
            return (ends, try await recordings.send(RecordingStop(session: "far"), timeout: .seconds(120)))
        }
    }

    @Test func everySampleOfBothSitesIsRecordedOnceWhateverIsKilled() async throws {
        print("HOLDFAST_RELAY_SEED=\(RelayKills.seed)")
        try await withStudy { study in
            try await RevivedProgram.run(study.programs) {
                try await study.begin()
                try await study.progress()
                var random = SplitMix(seed: UInt64(RelayKills.seed))
                var waits: [Duration] = []
                var restarts: [String: Int] = [:]
                for round in 1...RelayKills.rounds {
                    switch Int.random(in: 0..<10, using: &random) {
                    case 0..<4: try await study.servers.servers[Int.random(in: 0..<3, using: &random)].kill()
                    case 4..<6: try await study.sites[Int.random(in: 0..<2, using: &random)].sender.kill()
                    case 6: try await study.server.kill()
                    case 7..<9: try await study.recorder.kill()
                    default:
                        let site = study.sites[Int.random(in: 0..<2, using: &random)]
                        try await site.publisher.kill()
                        for device in site.devices { restarts[device, default: 0] += 1 }
                    }
                    let killedAt = ContinuousClock.now
                    try await study.progress()
                    waits.append(ContinuousClock.now - killedAt)
                    let part = round * Self.parts / RelayKills.rounds
                    if part > (round - 1) * Self.parts / RelayKills.rounds { try await harm(study, part) }
                }
                let (ends, result) = try await study.end()
                waits.sort()
                print(
                    "\(RelayKills.rounds) kills, \(study.streams) streams, \(result.logs.reduce(0) { $0 + $1.samples }) samples;",
                    "samples of each stream again after \(waits[waits.count / 2]) (median), \(waits[waits.count - 1]) at most"
                )
                try check(result, ends: ends, restarts: restarts)
                let end = try await ProgramUnderTest.run(
                    "recorder", arguments: ["verify", result.directory], in: study.directory
                ) { try await $0.end() }
                // The end of an epoch that was lost with its publisher is a loss, not damage.
                #expect(end == .exited(result.report.isWhole ? 0 : 3))
            }
        }
    }

    private func withStudy(_ body: (Study) async throws -> Void) async throws {
        try await withTemporaryDirectory { directory in
            try await Network.run(hosts: Study.centre) { try await body(Study(on: $0, in: directory)) }
        }
    }

    /// Faults that are worse than a kill, each once in a run.
    private func harm(_ study: Study, _ number: Int) async throws {
        let servers = study.servers.servers
        switch number {
        case 1: try await study.sites[0].sender.freeze(for: Self.cutOff)
        case 2: try await servers[0].freeze(for: .seconds(9))
        case 3:
            // A server comes back with an empty disk.
            try await servers[1].hold()
            try FileManager.default.removeItem(atPath: study.servers.storage(of: 1).string)
            try await servers[1].release()
        case 4:
            // Nothing can be acknowledged, and samples meanwhile are spooled on the sites' disks.
            try await servers[0].hold()
            try await servers[2].hold()
            for site in study.sites { try await site.sender.kill() }
            try await Task.sleep(for: Self.cutOff)
            try await servers[0].release()
            try await servers[2].release()
        case 5: try await study.server.freeze(for: Self.cutOff)
        case 6: try await study.recorder.freeze(for: Self.cutOff)
        case 7: try await servers[2].freeze(for: Self.cutOff)
        case 8: try await cut(1, from: study)
        // A majority: nothing can be acknowledged.
        case 9: try await cut(2, 3, from: study)
        case 10: try await cut(Study.firstSite + 1, from: study)
        case 11: try await cut(Study.centre, from: study)
        default: return
        }
        try await study.progress()
    }

    /// Silently drops all traffic to and from hosts for a while.
    private func cut(_ hosts: Int..., from study: Study) async throws {
        for host in hosts { try await study.network.setSwitch(for: host, isOn: false) }
        try await Task.sleep(for: Self.cutOff)
        for host in hosts { try await study.network.setSwitch(for: host, isOn: true) }
    }

    /// Checks every sample of a session: each once and in order, to the end of the last epoch; only a killed publisher loses the
    /// last samples of its epoch.
    private func check(_ result: RecordingResult, ends: [String: Int], restarts: [String: Int]) throws {
        #expect(result.logs.count == ends.count)
        for log in result.logs {
            let items = try log.files.flatMap { try LogItem.read(FilePath(result.directory).appending($0)) }
            let device = try #require(ends.keys.first { log.name == "\($0)_value" })
            var last: Int?
            var anew = 0
            for item in items where item.marker == nil {
                let value = Int(try #require(item.x))
                if let last, value != last + 1 {
                    #expect(value == 0, "\(log.name): \(value) after \(last)")
                    anew += 1
                }
                last = value
            }
            #expect(last.map { $0 + 1 } == ends[device], "\(log.name)")
            #expect(anew <= restarts[device] ?? 0, "\(log.name)")
            let gaps = result.report.streams.first { $0.stream.description == "\(device)/value" }?.gaps ?? []
            #expect(gaps.allSatisfy { $0.reason == .epochEnded }, "\(log.name): \(gaps)")
            #expect(gaps.count <= restarts[device] ?? 0, "\(log.name): \(gaps)")
        }
    }
}
