import FoundationEssentials
import MessageBus
import Messages
import SystemPackage
import TestSupport
import Testing

/// Publishers and recorders on different machines, with failures of the network between them.
///
/// These tests mostly wait, so they run in parallel.
@Suite(.timeLimit(.minutes(5)), .enabled(Comment(rawValue: Network.need)) { await Network.isPossible() })
struct ManyMachinesTests {
    /// A way in which the network fails.
    enum Cut: CaseIterable, Sendable {
        /// The interface is down, which its machine notices.
        case link
        /// Packets are dropped without notice.
        case silence

        func set(_ isCut: Bool, of host: Int, in network: Network) async throws {
            switch self {
            case .link: try await network.setLink(of: host, isUp: !isCut)
            case .silence: try await network.setSwitch(for: host, isOn: !isCut)
            }
        }
    }

    private static let outage = Duration.seconds(30)
    /// Resident memory in bytes.
    private func memory(of program: ProgramUnderTest) throws -> Int {
        let process = try #require(program.processIdentifier)
        let status = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") })
        return try #require(line.split(separator: " ").dropFirst().first.flatMap { Int($0) }) * 1_024
    }

    @Test(arguments: Cut.allCases)
    func aNetworkThatFailsForHalfAMinuteCostsNothing(cut: Cut) async throws {
        try await withTemporaryDirectory { data in
            try await Network.run(hosts: 2) { network in
                try await network.publisher("wrist", on: 1) { publisher in
                    let endpoint = "tcp://\(network.address(1)):5550"
                    try await network.recorder(listeningTo: endpoint, on: 2, data: data) { recorder, client in
                        try await record(
                            across: cut, network, publisher, recorder, NetworkSession(name: "cut", client: client))
                    }
                }
            }
        }
    }

    private func record(
        across cut: Cut, _ network: Network, _ publisher: ProgramUnderTest, _ recorder: ProgramUnderTest,
        _ session: NetworkSession
    ) async throws {
        try await session.start()
        try await session.has("wrist")
        try await session.isWell()
        let before = try await session.samples()["wrist"] ?? 0
        let memoryBefore = (try memory(of: publisher), try memory(of: recorder))

        try await cut.set(true, of: 2, in: network)
        let end = ContinuousClock.now + Self.outage
        try await session.misses("tcp://\(network.address(1)):5550", within: Self.outage)
        try await Task.sleep(until: end)
        let during = try await session.samples()["wrist"] ?? 0
        try await cut.set(false, of: 2, in: network)

        let restored = ContinuousClock.now
        // Everything that was sampled during the failure and since.
        try await eventually("the recorder to catch up", within: .seconds(60)) {
            let passed = Int((.now - restored) / .seconds(1)) + 29
            return try await session.samples()["wrist"] ?? 0 > before + passed * Network.rate
        }
        let caughtUp = ContinuousClock.now - restored
        #expect(caughtUp < .seconds(40), "nothing is to be waited for but a connection")
        try await session.isWell()
        // The publisher keeps 15,000 samples more than before.
        #expect(try memory(of: publisher) - memoryBefore.0 < 30 << 20)
        #expect(try memory(of: recorder) - memoryBefore.1 < 30 << 20)

        let result = try await session.stop()
        try NetworkSession.check(result, devices: ["wrist"])
        let stream = try #require(result.report.streams.first)
        #expect(stream.recovered > (before + 29 * Network.rate - during) / 2, "\(stream)")
        #expect(stream.gaps.isEmpty)
        #expect(stream.lost == 0)
    }
}
