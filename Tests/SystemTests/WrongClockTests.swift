import MessageBus
import Messages
import SystemPackage
import TestSupport
import Testing

/// Publishers on machines with a wrong date: their samples are recorded by their own date, and the difference is reported.
@Suite(.timeLimit(.minutes(2)))
struct WrongClockTests {
    /// Starts a publisher whose clock is off by an hour or more, at the endpoint where the recorder expects it.
    private func publisher(
        _ device: String, ahead seconds: Int, in data: FilePath, _ body: (ProgramUnderTest) async throws -> Void
    ) async throws {
        try await ProgramUnderTest.run(
            executable: FilePath("/usr/bin/env"),
            arguments: ClockLayer.ahead(by: seconds).dropFirst() + [
                ProductsDirectory.executable("sensor-publisher").string, "--signal", "sine", "--rate",
                "\(Network.rate)", "--device", device,
            ] + Network.sockets(device, in: data)
        ) { program in
            _ = try await program.ready()
            try await body(program)
            try program.send(.terminate)
            let end = try await program.end()
            #expect(end == .exited(0), "\(program.standardError)")
        }
    }

    /// One publisher is there at the start; the other appears during the session.
    @Test func whatIsSampledByAnotherDateIsAllThereAndSaidToBe() async throws {
        try await withTemporaryDirectory { data in
            try await publisher("ahead", ahead: 3_600, in: data) { _ in
                let sources = ["ahead", "behind"].flatMap { ["--subscribe", Network.publishing($0, in: data)] }
                try await ProgramUnderTest.run(
                    "recorder", arguments: ["--data", data.string] + sources + Network.sockets("recorder", in: data)
                ) { recorder in
                    _ = try await recorder.ready()
                    try await record(
                        NetworkSession(name: "off", client: Network.client(of: "recorder", in: data)), data)
                }
            }
        }
    }

    private func record(_ session: NetworkSession, _ data: FilePath) async throws {
        try await session.start()
        try await session.has("ahead")
        try await session.complains(of: "3600 s ahead of this machine's")
        try await publisher("behind", ahead: -7_200, in: data) { _ in
            try await session.has("ahead", "behind")
            let result = try await session.stop()
            try NetworkSession.check(result, devices: ["ahead", "behind"])
            let clocks = try #require(result.report.clocks)
            #expect(clocks.count == 2)
            for clock in clocks {
                let device = clock.endpoint.contains("ahead") ? "ahead" : "behind"
                #expect(abs(clock.first - (device == "ahead" ? 3_600 : -7_200)) < 0.2 + clock.uncertainty)
                // Each device's samples have its own date; the report has the offset to the recorder's.
                let log = try #require(result.logs.first { $0.name.hasPrefix(device) })
                let samples = try NetworkSession.samples(of: log, in: result)
                #expect(samples.count == log.samples)
                #expect(samples.allSatisfy { abs($0.timestamp - clock.first) < 60 })
            }
        }
        // The health no longer needs to mention the clocks.
        try await eventually("health to be silent about clocks") {
            try await session.health().reasons.allSatisfy { !$0.contains("clock") }
        }
    }
}
