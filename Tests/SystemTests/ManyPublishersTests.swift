import FoundationEssentials
import MessageBus
import Messages
import SystemPackage
import TestSupport
import Testing

/// Publishers on many machines behind one name, and recorders that share them.
@Suite(.timeLimit(.minutes(5)), .enabled(Comment(rawValue: Network.need)) { await Network.isPossible() })
struct ManyPublishersTests {
    /// A command that runs a program as on a machine that has been up for 11 days longer: time_namespaces(7).
    private static let otherUptime = ["unshare", "--time", "--monotonic", "1000000", "--boottime", "1000000"]

    /// Three replicas, as with `docker compose up --scale sensor-publisher=3`: two at the start, one that joins, one that leaves.
    /// One has another uptime.
    @Test func oneNameMayHaveManyPublishers() async throws {
        try await withTemporaryDirectory { data in
            try await Network.run(hosts: 4) { network in
                try network.setNames(of: "sensors", to: [1, 2], on: 4)
                try await network.publisher("second", on: 2, wrapper: Self.otherUptime) { _ in
                    try await network.recorder(
                        listeningTo: "tcp://sensors:5550", on: 4, data: data, ends: .exited(3)
                    ) {
                        try await recordReplicas(network, $0, NetworkSession(name: "three", client: $1))
                    }
                }
            }
        }
    }

    private func recordReplicas(
        _ network: Network, _ recorder: ProgramUnderTest, _ session: NetworkSession
    ) async throws {
        try await network.publisher("first", on: 1) { first in
            try await eventually("two connections") {
                try await session.health().measures?["addressesConnected"] == 2
            }
            try await session.start()
            try await network.publisher("third", on: 3) { _ in
                try await session.has("first", "second")
                try network.setNames(of: "sensors", to: [1, 2, 3], on: 4)
                try await session.has("third")
                try await session.isWell()
                try first.send(.terminate)
                let end = try await first.end()
                #expect(end == .exited(0))
                try await session.misses("tcp://\(network.address(1)):5550 (sensors)")
                try network.setNames(of: "sensors", to: [2, 3], on: 4)
                // After the time for which an address is kept.
                try await recorder.complaint(containing: "an address has gone", within: .seconds(60))
                try await session.isWell()
                let result = try await session.stop()
                try NetworkSession.check(result, devices: ["first", "second", "third"], stopped: ["first"])
                try checkClocks(of: result, network)
            }
        }
    }

    private func checkClocks(of result: RecordingResult, _ network: Network) throws {
        // Each publisher announced its own address as its endpoint, although it listens on all.
        let clocks = try #require(result.report.clocks)
        #expect(Set(clocks.map(\.endpoint)) == Set((1...3).map { "tcp://\(network.address($0)):5551" }))
        #expect(clocks.allSatisfy { abs($0.first) < 0.1 })
        for log in result.logs {
            let samples = try NetworkSession.samples(of: log, in: result)
            // Whatever a machine's uptime, its samples are within the session; on a busy machine, the first ones were due before
            // its start.
            #expect(samples.allSatisfy { abs($0.timestamp) < 1_000 })
            #expect(samples.dropFirst(Network.rate).allSatisfy { $0.timestamp > 0 }, "\(samples[0].timestamp)")
            #expect(samples.allSatisfy { ($0.uptime > 1_000_000) == log.name.hasPrefix("second") }, "\(log.name)")
        }
    }

    // MARK: Shards

    /// Two recorders on one data directory divide the devices of the publishers behind one name; log-manager and archiver listen
    /// to both.
    @Test func shardsDivideThePublishersOfAName() async throws {
        try await withTemporaryDirectory { data in
            try await Network.run(hosts: 4) { network in
                try network.setNames(of: "sensors", to: [1, 2, 3], on: 4)
                try await network.publisher("left-wrist", on: 1) { _ in
                    try await network.publisher("right-wrist", on: 2) { _ in
                        try await network.publisher("phone", on: 3) { _ in try await recordShards(network, data) }
                    }
                }
            }
        }
    }

    private func recordShards(_ network: Network, _ data: FilePath) async throws {
        let receiver = data.appending("receiver")
        try FileManager.default.createDirectory(atPath: receiver.string, withIntermediateDirectories: true)
        let recorders = ["one", "two"].flatMap { ["--subscribe", Network.publishing($0, in: data)] }
        let custody = ["--data", data.string] + recorders + Network.sockets("log-manager", in: data)
        let archiving =
            [
                "--data", data.string, "--log-manager", "ipc://\(data)/log-manager.reply", "--upload-to",
                "file://\(receiver)",
            ]
            + recorders + Network.sockets("archiver", in: data)
        try await network.run("log-manager", on: 4, arguments: custody) { _ in
            try await network.run("archiver", on: 4, arguments: archiving) { _ in
                let name = "tcp://sensors:5550"
                try await network.recorder("one", listeningTo: name, on: 4, data: data, options: ["--shard", "1/2"]) {
                    _, one in
                    try await network.recorder(
                        "two", listeningTo: name, on: 4, data: data, options: ["--shard", "2/2"]
                    ) { _, two in
                        try await recordShards(
                            NetworkSession(name: "part-1", client: one), NetworkSession(name: "part-2", client: two),
                            data)
                    }
                }
            }
        }
    }

    private func recordShards(_ one: NetworkSession, _ two: NetworkSession, _ data: FilePath) async throws {
        for session in [one, two] { try await session.start() }
        try await eventually("all devices to be recorded") {
            let samples = [try await one.samples(), try await two.samples()]
            return samples.flatMap(\.values).count { $0 > Network.rate } == 3
        }
        // The division follows the hash of the device names.
        try NetworkSession.check(try await one.stop(), devices: ["left-wrist"])
        try NetworkSession.check(try await two.stop(), devices: ["phone", "right-wrist"])
        let archiver = try Network.client(of: "archiver", in: data)
        try await eventually("both sessions to be archived and marked") {
            let list = try await archiver.send(ArchiveList(), timeout: .seconds(60)).archives
            return list.count == 2 && list.allSatisfy { $0.state == .marked }
        }
        let logManager = try Network.client(of: "log-manager", in: data)
        let files = try await logManager.send(LogsList(), timeout: .seconds(60)).files
        #expect(files.map(\.uploaded) == [true, true, true])
    }
}
