import FoundationEssentials
import MessageBus
import Messages
import SystemPackage
import TestSupport
import Testing
import ZeroMQ

/// Publishers and recorders on different machines, between which the network fails.
///
/// They wait much and compute little, so they run beside others.
@Suite(.timeLimit(.minutes(5)), .enabled(Comment(rawValue: Network.need)) { await Network.isPossible() })
struct ManyMachinesTests {
    /// How a network fails.
    enum Cut: CaseIterable, Sendable {
        /// The interface is down, and its machine knows it.
        case link
        /// Packets vanish on the way, and nobody is told.
        case silence

        func set(_ isCut: Bool, of host: Int, in network: Network) async throws {
            switch self {
            case .link: try await network.setLink(of: host, isUp: !isCut)
            case .silence: try await network.setSwitch(for: host, isOn: !isCut)
            }
        }
    }

    private static let rate = 500
    private static let outage = Duration.seconds(30)

    /// Runs a publisher of a signal on a host.
    private func withPublisher(
        _ device: String, on host: Int, in network: Network, options: [String] = [],
        wrapped: [String] = [], _ body: (ProgramUnderTest) async throws -> Void
    ) async throws {
        let (executable, arguments) = network.on(host)
        try await ProgramUnderTest.run(
            executable: executable,
            arguments: arguments + wrapped + [
                ProductsDirectory.executable("sensor-publisher").string, "--signal",
                "sine:amplitude=1,angularFrequency=2", "--rate", "\(Self.rate)", "--device", device, "--publish",
                "tcp://*:5550", "--reply", "tcp://*:5551", "--insecure",
            ] + options
        ) { publisher in
            _ = try await publisher.ready()
            try await body(publisher)
        }
    }

    /// Runs a recorder on a host, which is asked through the file system.
    private func withRecorder(
        listeningTo endpoint: String, on host: Int, in network: Network, data: FilePath, options: [String] = [],
        _ body: (ProgramUnderTest, RequestClient) async throws -> Void
    ) async throws {
        let (executable, arguments) = network.on(host)
        try await ProgramUnderTest.run(
            executable: executable,
            arguments: arguments + [
                ProductsDirectory.executable("recorder").string, "--data", data.string, "--subscribe", endpoint,
                "--publish", "ipc://\(data)/publish", "--reply", "ipc://\(data)/reply", "--insecure",
            ] + options
        ) { recorder in
            let ready = try await recorder.ready()
            let client = try RequestClient(
                context: Context(), thread: SocketThread(name: "test"), endpoint: ready.reply)
            try await body(recorder, client)
            try recorder.send(.terminate)
            let end = try await recorder.end()
            #expect(end == .exited(0))
        }
    }

    private func health(_ client: RequestClient) async throws -> ServiceHealth.Reply {
        try await client.send(ServiceHealth(), timeout: .seconds(10))
    }

    private func samples(_ client: RequestClient, of session: String) async throws -> [String: Int] {
        let state = try await client.send(RecordingStatus(session: session), timeout: .seconds(10))
        return state.logs.reduce(into: [:]) { $0[$1.stream.description] = $1.samples }
    }

    /// Resident memory in bytes.
    private func memory(of program: ProgramUnderTest) throws -> Int {
        let process = try #require(program.processIdentifier)
        let status = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") })
        return try #require(line.split(separator: " ").dropFirst().first.flatMap { Int($0) }) * 1_024
    }

    /// Checks that a log has each sample of its time once, on the grid of its rate.
    private func check(_ result: RecordingResult, streams: [String]) throws {
        #expect(result.report.isWhole)
        #expect(Set(result.report.streams.map(\.stream.description)) == Set(streams))
        for log in result.logs {
            let items = try log.files.flatMap { try LogItem.read(FilePath(result.directory).appending($0)) }
            let uptimes = items.filter(\.isSample).map(\.uptime)
            #expect(uptimes.count == log.samples)
            let steps = zip(uptimes, uptimes.dropFirst()).map { ($1 - $0) * Double(Self.rate) }
            #expect(steps.allSatisfy { abs($0 - 1) < 0.01 }, "samples of \(log.name) are missing or twice")
        }
    }

    @Test(arguments: Cut.allCases)
    func aNetworkThatFailsForHalfAMinuteCostsNothing(cut: Cut) async throws {
        try await withTemporaryDirectory { data in
            try await Network.run(hosts: 2) { network in
                try await withPublisher("wrist", on: 1, in: network) { publisher in
                    try await withRecorder(
                        listeningTo: "tcp://\(network.address(1)):5550", on: 2, in: network, data: data
                    ) { recorder, client in
                        try await record(across: cut, network, publisher, recorder, client)
                    }
                }
            }
        }
    }

    private func record(
        across cut: Cut, _ network: Network, _ publisher: ProgramUnderTest, _ recorder: ProgramUnderTest,
        _ client: RequestClient
    ) async throws {
        let name = "wrist/accelerometer"
        let start = RecordingStart(session: "cut", streams: ["wrist/"])
        _ = try await client.send(start, timeout: .seconds(10))
        try await eventually("the first samples") { try await samples(client, of: "cut")[name] ?? 0 > Self.rate }
        try await eventually("health to be well") { try await health(client).reasons.isEmpty }
        let before = try await samples(client, of: "cut")[name] ?? 0
        let memoryBefore = (try memory(of: publisher), try memory(of: recorder))

        try await cut.set(true, of: 2, in: network)
        let end = ContinuousClock.now + Self.outage
        try await eventually("health to tell that the publisher is away", within: Self.outage) {
            try await health(client).reasons.contains { $0.contains("is away since") }
        }
        try await Task.sleep(until: end)
        let during = try await samples(client, of: "cut")[name] ?? 0
        try await cut.set(false, of: 2, in: network)

        let restored = ContinuousClock.now
        // All that was sampled while it was cut, and some seconds more.
        try await eventually("the recorder to catch up", within: .seconds(60)) {
            let passed = Int((.now - restored) / .seconds(1)) + 29
            return try await samples(client, of: "cut")[name] ?? 0 > before + passed * Self.rate
        }
        let caughtUp = ContinuousClock.now - restored
        #expect(caughtUp < .seconds(20), "nothing is to be waited for but a connection: \(caughtUp)")
        try await eventually("health to be well again") { try await health(client).reasons.isEmpty }
        let memoryAfter = (try memory(of: publisher), try memory(of: recorder))
        // The publisher keeps 15,000 samples more than before.
        #expect(memoryAfter.0 - memoryBefore.0 < 30 << 20)
        #expect(memoryAfter.1 - memoryBefore.1 < 30 << 20)

        let result = try await client.send(RecordingStop(session: "cut"), timeout: .seconds(30))
        try check(result, streams: [name])
        let stream = try #require(result.report.streams.first)
        #expect(stream.recovered > (before + 29 * Self.rate - during) / 2, "\(stream)")
        #expect(stream.gaps.isEmpty)
        #expect(stream.lost == 0)
    }

    /// Three replicas, as `docker compose up --scale sensor-publisher=3` has them: two at the start, one that joins, one that
    /// goes. The clock of one began at another time.
    @Test func oneNameMayHaveManyPublishers() async throws {
        try await withTemporaryDirectory { data in
            try await Network.run(hosts: 4) { network in
                func known(_ hosts: [Int]) throws {
                    try network.setNames(hosts.map { (network.address($0), "sensors") }, on: 4)
                }
                try known([1, 2])
                try await withPublisher("second", on: 2, in: network, wrapped: Self.otherUptime) { _ in
                    try await withRecorder(listeningTo: "tcp://sensors:5550", on: 4, in: network, data: data) {
                        recorder, client in
                        let request = RecordingStart(session: "three", streams: ["first/", "second/", "third/"])
                        try await withPublisher("first", on: 1, in: network) { first in
                            try await eventually("two connections") { try await connected(client) == 2 }
                            _ = try await client.send(request, timeout: .seconds(10))
                            try await withPublisher("third", on: 3, in: network) { _ in
                                try await heard(["first", "second"], by: client)
                                try known([1, 2, 3])
                                try await heard(["third"], by: client)
                                #expect(try await health(client).reasons.isEmpty)
                                try first.send(.terminate)
                                let end = try await first.end()
                                #expect(end == .exited(0))
                                try await eventually("health to tell that one is away") {
                                    try await health(client).reasons.contains {
                                        $0.contains("tcp://\(network.address(1)):5550 (sensors) is away since")
                                    }
                                }
                                try known([2, 3])
                                // After the time for which an address is kept.
                                try await recorder.complaint(containing: "an address has gone", within: .seconds(60))
                                try await eventually("health to be well") { try await health(client).reasons.isEmpty }
                                let result = try await client.send(
                                    RecordingStop(session: "three"), timeout: .seconds(30))
                                try check(
                                    result, streams: ["first", "second", "third"].map { "\($0)/accelerometer" })
                                try checkClocks(result, network)
                            }
                        }
                    }
                }
            }
        }
    }

    /// Runs a program on a machine that has been up for 11 days longer.
    private static let otherUptime = ["unshare", "--time", "--monotonic", "1000000", "--boottime", "1000000"]

    private func connected(_ client: RequestClient) async throws -> Double {
        try await health(client).measures?["addressesConnected"] ?? 0
    }

    private func heard(_ devices: [String], by client: RequestClient) async throws {
        try await eventually("samples of \(devices)") {
            let samples = try await samples(client, of: "three")
            return devices.allSatisfy { samples["\($0)/accelerometer"] ?? 0 > Self.rate }
        }
    }

    private func checkClocks(_ result: RecordingResult, _ network: Network) throws {
        // Each by the endpoint that it announced itself: an address, though it listens on all.
        let clocks = try #require(result.report.clocks)
        #expect(Set(clocks.map(\.endpoint)) == Set((1...3).map { "tcp://\(network.address($0)):5551" }))
        #expect(clocks.allSatisfy { abs($0.first) < 0.1 })
        for log in result.logs {
            let items = try log.files.flatMap { try LogItem.read(FilePath(result.directory).appending($0)) }
            let samples = items.filter(\.isSample)
            let last = try #require(samples.last)
            // Whenever a machine was started, its samples lie within the session.
            #expect(samples.allSatisfy { $0.timestamp > -0.1 && $0.timestamp < 120 })
            #expect((last.uptime > 1_000_000) == log.name.hasPrefix("second"), "\(log.name): \(last.uptime)")
        }
    }
}
