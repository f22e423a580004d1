import MessageBus
import Messages
import SystemPackage
import TestSupport
import Testing

/// An outlet of liblsl on another machine than sensor-publisher, and failures of the network between them.
@Suite(
    .timeLimit(.minutes(5)), .enabled(Comment(rawValue: Network.need)) { await Network.isPossible() },
    .enabled(if: Readers.areInstalled, "\(Readers.need)"))
struct LSLOutageTests {
    private static let script = FilePath(#filePath).removingLastComponent().removingLastComponent()
        .appending("SensorPublisherTests/Outlets/outlet.py")
    /// Seconds. Longer than clocks may go without a comparison.
    private static let outage = 17.0

    @Test(arguments: ManyMachinesTests.Cut.allCases)
    func anOutletsSamplesOfAnOutageComeAfterIt(cut: ManyMachinesTests.Cut) async throws {
        let count = 2_500
        let streams = ["--lsl", "name='glove'", "--device", "lab", "--stream", "glove"]
        try await withTemporaryDirectory { data in
            try await Network.run(hosts: 2) { network in
                let (executable, before) = network.on(1)
                let outlet =
                    [Readers.python.string, Self.script.string]
                    + ["glove", "glove", "float32", "3", "100", "0", "\(count)"]
                try await ProgramUnderTest.run(executable: executable, arguments: before + outlet) { outlet in
                    _ = try await outlet.line("an outlet that is ready") { $0 == "ready" }
                    try await network.run(
                        "sensor-publisher", on: 2,
                        arguments: streams + ["--lsl-host", network.address(1)]
                            + Network.sockets("sensor-publisher", in: data)
                    ) { _ in
                        let client = try Network.client(of: "sensor-publisher", in: data)
                        func stream() async throws -> StreamDescription? {
                            try await client.send(StreamsList(), timeout: .seconds(50)).streams.first
                        }
                        try await eventually("samples") { try await stream()?.nextSequence ?? 0 >= 100 }
                        try await cut.set(true, of: 1, in: network)
                        try await eventually("an outage", within: .seconds(60)) {
                            guard let stream = try await stream(), let last = stream.lastSample else { return false }
                            return stream.clock.uptime - last >= Self.outage
                        }
                        try await cut.set(false, of: 1, in: network)
                        try await eventually("the samples of the outage", within: .seconds(120)) {
                            try await stream()?.nextSequence ?? 0 >= count
                        }
                        let last = try #require(try await stream())
                        #expect(last.nextSequence == count)
                        #expect(last.state == .running)
                        // A replay ends where samples are missing.
                        let all = SamplesReplay(
                            device: "lab", stream: "glove", epoch: last.epoch, from: 0, count: count)
                        let (reply, _) = try await client.sendForFrames(all, timeout: .seconds(50))
                        #expect(reply.from == 0)
                        #expect(reply.count == count)
                    }
                }
            }
        }
    }
}
